import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { type BalancerPlan, createBalancer } from '../../bin/up/balancer/balancer.ts'
import { haproxyConfig } from '../../bin/up/balancer/haproxy.ts'
import { nginxConfig } from '../../bin/up/balancer/nginx.ts'
import { findProgram } from '../../bin/up/find-program.ts'
import { CoordinatorConfig } from '../../coordinator/config.ts'
import { issueAuthority, issueServerCertificate } from '../../coordinator/kernel/tls/certificate.ts'
import { loadConfig } from '../../shared/config.ts'
import { MEMORY_FOLDER } from '../support/memory-folder.ts'

const folder = resolve(import.meta.dirname, '..', '..', 'examples', 'replicas')
const read = (name: string): string => readFileSync(join(folder, name), 'utf8')

interface Compose {
  services: Record<
    string,
    { environment?: Record<string, string>; volumes: string[]; secrets?: string[] }
  >
  volumes: Record<string, unknown>
}

const isMissing = (name: string): string | false =>
  findProgram(name) === undefined && `${name} is not installed`

const newFolder = (t: Test): string => {
  const path = mkdtempSync(join(MEMORY_FOLDER, 'shoal-balancer-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const check = (t: Test, program: string, args: string[]): void => {
  const { status, stderr } = spawnSync(findProgram(program) as string, args, { encoding: 'utf8' })
  t.equal(status, 0, stderr)
}

t.test('the compose file starts three coordinators with one store and one sealing key', async t => {
  const { services, volumes } = parse(read('compose.yaml'), { merge: true }) as Compose
  const coordinators = Object.entries(services).filter(([name]) => name.startsWith('coordinator'))
  t.equal(coordinators.length, 3)
  const states = new Set<string>()
  for (const [name, { environment = {}, volumes: mounts }] of coordinators) {
    const source = { program: 'shoal-coordinator', schema: CoordinatorConfig, argv: [] }
    const loaded = loadConfig({ ...source, env: environment })
    if (loaded.action !== 'run') throw new Error(loaded.text)
    const { config } = loaded
    t.match(config, { http: { host: '0.0.0.0', allowed_hosts: [name] } })
    t.equal(config.store.url, services['coordinator-1']?.environment?.SHOAL_STORE_URL)
    t.ok(mounts.includes('./secrets/sealing.key:/var/lib/shoal/sealing.key'))
    const state = mounts.find(mount => mount.endsWith(':/var/lib/shoal'))?.split(':')[0] ?? ''
    t.ok(state in volumes)
    states.add(state)
    t.ok(read('haproxy.cfg').includes(`server ${name} ${name}:7070`), 'the balancer knows it')
  }
  t.equal(states.size, 3, 'each has a state folder of its own')
})

t.test('HAProxy accepts its examples', { skip: isMissing('haproxy') }, async t => {
  check(t, 'haproxy', ['-c', '-f', join(folder, 'haproxy.cfg')])
  const path = newFolder(t)
  const plan = { folder: path, port: 17_070, replicaPorts: [17_071, 17_072], isRoot: false }
  writeFileSync(join(path, 'haproxy.cfg'), haproxyConfig(plan))
  check(t, 'haproxy', ['-c', '-f', join(path, 'haproxy.cfg')])
})

t.test('nginx accepts its examples', { skip: isMissing('nginx') }, async t => {
  const path = newFolder(t)
  mkdirSync(join(path, 'nginx'))
  const validity = { from: Date.now(), to: Date.now() + 3_600_000 }
  const authority = await issueAuthority('test', validity)
  const server = await issueServerCertificate(authority, ['shoal.example.com'], validity)
  writeFileSync(join(path, 'server.crt'), server.certificate.toString())
  writeFileSync(join(path, 'server.key'), server.key.export({ type: 'pkcs8', format: 'pem' }))
  writeFileSync(join(path, 'ca.crt'), authority.certificate.toString())
  const temporary = `pid ${path}/nginx.pid;\nhttp {\n  access_log off;\n`
  const example = read('nginx.conf').replaceAll('/etc/nginx/shoal', path)
  writeFileSync(join(path, 'nginx.conf'), example.replace('http {\n', temporary))
  check(t, 'nginx', ['-t', '-q', '-e', 'stderr', '-c', join(path, 'nginx.conf')])
  const isRoot = process.getuid?.() === 0
  const plan = { folder: path, port: 17_070, replicaPorts: [17_071, 17_072], isRoot }
  writeFileSync(join(path, 'trial.conf'), nginxConfig(plan))
  check(t, 'nginx', ['-t', '-q', '-p', path, '-e', 'stderr', '-c', join(path, 'trial.conf')])
})

t.test('a trial uses nginx, else HAProxy, else a forwarder that says what it is', async t => {
  const plan: BalancerPlan = { folder: newFolder(t), port: 1, replicaPorts: [2], isRoot: false }
  const chosen = (...installed: string[]): string =>
    createBalancer(plan, name => (installed.includes(name) ? `/${name}` : undefined)).name
  t.equal(chosen('nginx', 'haproxy'), 'nginx')
  t.equal(chosen('haproxy'), 'HAProxy')
  t.match(chosen(), /for trials only/)
})
