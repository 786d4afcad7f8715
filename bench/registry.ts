/**
 * Measures reads of a large registry through the HTTP API of a coordinator that is a process of its
 * own: pages with each filter, at the beginning and deep inside, a search, and the deltas of a day.
 * Beside them, in the same run, the same page as SQL in this process, and `/healthz`. CPU is that
 * of the coordinator; of the SQL it is that of this process.
 *
 *   npm run bench -- registry [--things 100000] [--changes 20000] [--calls 200] [--store postgres]
 *     [--folder path]   keeps the filled SQLite store there, and measures the one that is there
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { demoKeys } from '../coordinator/access/keys/bootstrap.ts'
import { addKey } from '../coordinator/access/keys/issue.ts'
import type { StorePlace } from '../coordinator/kernel/store/place.ts'
import { openStore, type Store } from '../coordinator/kernel/store/store.ts'
import { administer, Cluster } from '../test/support/postgres.ts'
import {
  cpuMs,
  percentile,
  type ReportRow,
  readServiceEnv,
  readServiceFlags,
  report,
  round,
} from './measure.ts'
import { fillEntities } from './registry/fill.ts'

interface Case {
  what: string
  method?: 'POST'
  path: string
  body?: object
  promised?: string
}

const PAGE = '20 ms'
const list = (query: string, promised = PAGE): Case => ({
  what: `list ${query || '(no filter)'}`,
  path: `/a2a/discovery/registry?limit=50&${query}`,
  promised,
})
const skill = (id: string, body: object, promised: string): Case => ({
  what: `${id} ${JSON.stringify(body)}`,
  method: 'POST',
  path: `/v1/skills/${id}`,
  body,
  promised,
})

const CASES: Case[] = [
  { what: '/healthz', path: '/healthz' },
  skill('discovery-registry', {}, PAGE),
  skill('discovery-registry', { source: 'mdns-scan' }, PAGE),
  skill('discovery-registry', { source: 'runtime-discover' }, PAGE),
  skill('discovery-registry', { device_type: 'printer' }, PAGE),
  skill('discovery-registry', { risk_level: 'high' }, PAGE),
  skill('discovery-registry', { device_type: 'llm_server', risk_level: 'high' }, PAGE),
  list(''),
  list('present=true'),
  list('present=false'),
  list('text=brother'),
  list('text=kitchen%20prin'),
  list('text=printer-77777'),
  list('text=nothing-of-this-name'),
  skill('discovery-delta', { hours: 24 }, '50 ms'),
  { what: 'deltas, a page of 100', path: '/v1/discovery/deltas?hours=24', promised: '50 ms' },
  { what: 'dashboard', path: '/a2a/discovery/dashboard' },
]

export const main = async (argv: string[]): Promise<void> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      things: { type: 'string', default: '100000' },
      changes: { type: 'string', default: '20000' },
      calls: { type: 'string', default: '200' },
      store: { type: 'string', default: process.env.SHOAL_TEST_STORE ?? 'sqlite' },
      folder: { type: 'string' },
    },
  })
  const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'shoal-bench-registry-'))
  const cluster = values.store === 'postgres' ? await createCluster() : undefined
  try {
    await measureOn(folder, cluster, values)
  } finally {
    await cluster?.stop()
    if (values.folder === undefined) rmSync(folder, { recursive: true, force: true })
  }
}

const createCluster = async (): Promise<Cluster> => {
  const cluster = await Cluster.create({ fsync: 'on', full_page_writes: 'on' })
  if (cluster === undefined) throw new Error('PostgreSQL is not installed')
  await administer(cluster.folder, 'create database bench')
  return cluster
}

type Flags = Record<'things' | 'changes' | 'calls' | 'store', string>

const measureOn = async (
  folder: string,
  cluster: Cluster | undefined,
  flags: Flags,
): Promise<void> => {
  const stateDir = join(folder, 'coordinator')
  const place: StorePlace | string =
    cluster === undefined ? stateDir : { host: cluster.folder, user: 'postgres', database: 'bench' }
  const store = await openStore(place, { pollMilliseconds: 0 })
  const calls = Number(flags.calls)
  const keys = await createKeys(store, Math.ceil((calls * CASES.length) / 100))
  const [things, changes] = [Number(flags.things), Number(flags.changes)]
  if (!(await isFilled(store))) {
    const beganMs = performance.now()
    await fillEntities(store, { things, changes, now: Date.now() })
    console.log(`filled in ${Math.round((performance.now() - beganMs) / 1000)} s`)
  }
  if (cluster) await administer(cluster.folder, 'vacuum analyze', 'bench')
  const url = cluster && `postgres://postgres@localhost/bench?host=${cluster.folder}`
  const server = await startServer(stateDir, url)
  try {
    const ask = createAsker(server.address, keys)
    const rows = [await measureSql(store, calls)]
    for (const asked of [...CASES, ...(await listDeepPages(ask, things))])
      rows.push(await measureCase(asked, calls, ask, server.child.pid ?? 0))
    report('registry', flags, rows)
    ask.close()
  } finally {
    const ended = once(server.child, 'exit')
    server.child.kill('SIGTERM')
    await ended
    await store.close()
  }
}

const isFilled = async ({ ledger }: Store): Promise<boolean> =>
  (await ledger.read.selectFrom('discovery_entities').select('id').limit(1).execute()).length > 0

/** Creates keys of the tier enterprise, each for 100 calls. */
const createKeys = async (store: Store, count: number): Promise<string[]> => {
  await demoKeys(store, {})
  const by = { actor: 'bench' }
  const spec = { tenantId: 'demo', personId: 'demo_operator', tier: 'enterprise' as const }
  return store.ledger.sealed.write(async trx => {
    const keys: string[] = []
    for (let n = 0; n < count; n++) {
      const roles = ['client' as const, 'operator_admin' as const]
      keys.push((await addKey(trx, { ...spec, roles }, by, Date.now())).secret)
    }
    return keys
  })
}

const startServer = async (
  stateDir: string,
  url: string | undefined,
): Promise<{ child: ChildProcess; address: string }> => {
  const script = join(import.meta.dirname, 'registry', 'server.ts')
  const args = [...readServiceFlags(), script, stateDir, ...(url === undefined ? [] : [url])]
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...readServiceEnv() },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [address] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    once(child, 'exit').then(([code]) =>
      Promise.reject(new Error(`the server ended with ${code}`)),
    ),
  ])) as [string]
  return { child, address }
}

type Asker = ReturnType<typeof createAsker>

/** Throws for every status but 200: a refusal would be measured as a fast answer. */
const createAsker = (address: string, keys: readonly string[]) => {
  let asked = 0
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = async ({ what, method, path, body }: Case): Promise<string> => {
    const key = keys[asked++ % keys.length]
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const sent = request(new URL(path, address), { agent, method: method ?? 'GET', headers })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
    const [response] = await once(sent, 'response')
    const text = Buffer.concat(await response.toArray()).toString()
    if (response.statusCode !== 200)
      throw new Error(`${what} answered ${response.statusCode}: ${text.slice(0, 300)}`)
    return text
  }
  return Object.assign(ask, { close: () => agent.destroy() })
}

/** Pages in the middle of a list, by the cursor that a client has there. */
const listDeepPages = async (ask: Asker, things: number): Promise<Case[]> => {
  const cases: Case[] = []
  for (const query of ['', 'source=mdns-scan&', 'device_type=printer&', 'text=brother&']) {
    let path = `/a2a/discovery/registry?limit=200&${query}`
    let next: string | null = null
    for (let seen = 0; seen < things / 10; seen += 200) {
      const answer = JSON.parse(await ask({ what: 'deep page', path }))
      if (answer.next === null) break
      next = answer.next
      path = `/a2a/discovery/registry?limit=200&${query}after=${next}`
    }
    if (next !== null) cases.push({ ...list(`${query}after=…`), path: path.replace('200', '50') })
  }
  return cases
}

const measureCase = async (
  asked: Case,
  calls: number,
  ask: Asker,
  pid: number,
): Promise<ReportRow> => {
  for (let n = 0; n < calls / 4; n++) await ask(asked)
  const times: number[] = []
  const before = cpuMs(pid)
  let bytes = 0
  for (let n = 0; n < calls; n++) {
    const begunMs = performance.now()
    bytes = (await ask(asked)).length
    times.push(performance.now() - begunMs)
  }
  return rowOf(asked, times, { cpu: (cpuMs(pid) - before) / calls, bytes })
}

/** The rows of a first page as SQL, without a coordinator. */
const measureSql = async (store: Store, calls: number): Promise<ReportRow> => {
  const times: number[] = []
  const cpu = process.cpuUsage()
  for (let n = 0; n < calls; n++) {
    const begunMs = performance.now()
    await sql`select * from discovery_entities order by last_at desc, id limit 50`.execute(
      store.ledger.read,
    )
    times.push(performance.now() - begunMs)
  }
  const { user, system } = process.cpuUsage(cpu)
  return rowOf({ what: 'SQL of a first page' }, times, {
    cpu: (user + system) / 1000 / calls,
    bytes: 0,
  })
}

const rowOf = (
  { what, promised = '' }: Pick<Case, 'what' | 'promised'>,
  times: readonly number[],
  { cpu, bytes }: { cpu: number; bytes: number },
): ReportRow => ({
  what,
  'p50 ms': round(percentile(times, 50)),
  'p99 ms': round(percentile(times, 99)),
  'CPU ms': round(cpu),
  KiB: Math.round(bytes / 1024),
  promised,
})
