import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { CHUNKS } from './gateway/answer.ts'
import { startGateway } from './gateway/start.ts'
import { cpuMs, type ReportRow, report, round, rssMiB } from './measure.ts'

/**
 * Cost of the coordinator between a client and a cell whose engine costs nothing, compared with
 * nginx as a plain proxy and with no proxy, under the same load in turn. CPU per request of the
 * proxy's process is the measurement that is steady on a busy machine.
 *
 *   npm run bench -- gateway [--requests 4000] [--rounds 3] [--against FOLDER]
 *
 * With `--against`, the coordinator of another checkout takes its turn in every round: on a noisy
 * machine, figures of two whole runs are further apart than the trees are. Many short rounds, such
 * as `--requests 2000 --rounds 14`, make the comparison steady.
 * A key is limited to 100,000 requests a minute, which rounds of many more than 8,000 requests reach.
 */
interface Target {
  name: string
  url: string
  key: string
  /** The process whose CPU counts; undefined for none in between. */
  pid: number | undefined
}

interface Load {
  perSecond: number
  p50: number
  p99: number
}

const here = (name: string): string => join(import.meta.dirname, 'gateway', name)

export const main = async (argv: string[]): Promise<void> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      requests: { type: 'string', default: '4000' },
      rounds: { type: 'string', default: '3' },
      against: { type: 'string' },
    },
  })
  const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-'))
  const children: ChildProcess[] = []
  try {
    const targets = await start(folder, children, values.against)
    const rows: ReportRow[] = []
    for (const [mode, clients] of [
      ['whole', 1],
      ['whole', 32],
      ['stream', 32],
    ] as const)
      rows.push(...(await compare(targets, mode, clients, +values.requests, +values.rounds)))
    report('gateway', values, rows)
    console.log('cpu_us: CPU of the proxy per request, of a stream per chunk (32 chunks each).')
    console.log('x_nginx: the figure of nginx in the same run is 1.')
    if (values.against !== undefined) console.log('x_against: that of the other checkout is 1.')
  } finally {
    for (const child of children) child.kill('SIGTERM')
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Coordinator, cell and nginx as processes of their own. */
const start = async (
  folder: string,
  children: ChildProcess[],
  against?: string,
): Promise<Target[]> => {
  const { url, upstream, key, coordinator } = await startGateway(folder, children)
  const targets: Target[] = [
    { name: 'direct', url: upstream, key, pid: undefined },
    { name: 'shoal', url, key, pid: coordinator.pid },
  ]
  if (against !== undefined) {
    const script = join(resolve(against), 'bench', 'gateway', 'start.ts')
    const other: typeof startGateway = (await import(script)).startGateway
    const { url, key, coordinator } = await other(join(folder, 'against'), children)
    targets.push({ name: 'against', url, key, pid: coordinator.pid })
  }
  const nginx = await startNginx(folder, upstream, children)
  if (nginx) targets.splice(1, 0, { ...nginx, key })
  else console.log('nginx is not installed: no comparison with it')
  return targets
}

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

const startNginx = async (
  folder: string,
  upstream: string,
  children: ChildProcess[],
): Promise<Omit<Target, 'key'> | undefined> => {
  if (spawnSync('nginx', ['-v']).error) return undefined
  const port = await freePort()
  const home = join(folder, 'nginx')
  mkdirSync(home)
  const config = join(home, 'nginx.conf')
  writeFileSync(config, nginxConfig(home, port, upstream.replace('http://', '')))
  const nginx = spawn('nginx', ['-c', config, '-p', home], { stdio: 'inherit' })
  children.push(nginx)
  await waitUntilOpen(port)
  return { name: 'nginx', url: `http://127.0.0.1:${port}`, pid: nginx.pid }
}

const waitUntilOpen = async (port: number): Promise<void> => {
  for (;;) {
    const open = await fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    )
    if (open) return
    await new Promise(done => setTimeout(done, 50))
  }
}

/** One worker, kept connections on both sides, and room for whole bodies in memory. */
const nginxConfig = (home: string, port: number, upstream: string): string => `
daemon off;
master_process off;
worker_processes 1;
pid ${home}/nginx.pid;
error_log ${home}/error.log;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path ${home}/body;
  proxy_temp_path ${home}/proxy;
  fastcgi_temp_path ${home}/fastcgi;
  uwsgi_temp_path ${home}/uwsgi;
  scgi_temp_path ${home}/scgi;
  client_body_buffer_size 1m;
  keepalive_requests 1000000;
  upstream cell { server ${upstream}; keepalive 256; keepalive_requests 1000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://cell;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`

/** The targets in turn, every other round backwards; the median of each figure, CPU as a mean. */
const compare = async (
  targets: Target[],
  mode: 'whole' | 'stream',
  clients: number,
  requests: number,
  rounds: number,
): Promise<ReportRow[]> => {
  const units = mode === 'stream' ? requests * CHUNKS : requests
  const seen = new Map(targets.map(({ name }) => [name, [] as (Load & { cpuUs: number })[]]))
  for (let round = 0; round <= rounds; round++)
    for (const { name, url, key, pid } of round % 2 === 0 ? targets : targets.toReversed()) {
      const before = pid === undefined ? 0 : cpuMs(pid)
      const load = await runLoad([url, key, String(clients), String(requests), mode])
      const cpuUs = pid === undefined ? 0 : ((cpuMs(pid) - before) * 1000) / units
      if (round > 0) seen.get(name)?.push({ ...load, cpuUs })
    }
  const metrics = targets.map(({ name, pid }) => {
    const runs = seen.get(name) ?? []
    const medianOf = (figure: keyof Load | 'cpuUs') => median(runs.map(run => run[figure]))
    return {
      name,
      pid,
      perSecond: medianOf('perSecond'),
      p50: medianOf('p50'),
      p99: medianOf('p99'),
      cpuUs: mean(runs.map(run => run.cpuUs)),
    }
  })
  const find = (name: string): number | undefined =>
    metrics.find(figure => figure.name === name)?.cpuUs
  const [nginx, against] = [find('nginx'), find('against')]
  return metrics.map(({ name, pid, perSecond, p50, p99, cpuUs }) => ({
    mode,
    clients,
    target: name,
    requests_per_s: perSecond,
    p50_us: p50,
    p99_us: p99,
    cpu_us: pid === undefined ? '' : round(cpuUs),
    x_nginx: pid === undefined || nginx === undefined ? '' : round(cpuUs / nginx),
    ...(against !== undefined && {
      x_against: pid === undefined ? '' : Math.round((cpuUs / against) * 1000) / 1000,
    }),
    rss_mib: pid === undefined ? '' : rssMiB(pid),
  }))
}

const mean = (values: number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

const runLoad = async (args: string[]): Promise<Load> => {
  const { stdout } = await promisify(execFile)(process.execPath, [here('load.ts'), ...args])
  return JSON.parse(stdout)
}
