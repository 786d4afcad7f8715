import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type AnyJson, message } from '../support/a2a.ts'
import { openDeviceFleet } from '../support/device-fleet.ts'
import { startHook } from '../support/hook.ts'
import { waitUntil } from '../support/wait-until.ts'

/* A real coordinator and a real cell: what a module finds, on every surface and as events. */

/** A container engine at a unix socket, whose containers come and go. */
const startEngine = async (t: Test) => {
  const containers: object[] = []
  const answers: Record<string, unknown> = {
    '/version': { Version: '27.3.1', ApiVersion: '1.47', MinAPIVersion: '1.24', Components: [] },
    '/v1.47/info': { NCPU: 4, MemTotal: 1e9, KernelVersion: '6.8.0', OperatingSystem: 'Debian' },
    '/v1.47/containers/json?all=1': containers,
    '/v1.47/images/json': [],
    '/v1.47/networks': [],
    '/v1.47/volumes': { Volumes: [], Warnings: null },
  }
  const server = createServer((request, response) => {
    const answer = answers[request.url ?? '']
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer ?? {}))
  })
  // paths of sockets have at most 107 bytes (unix(7)), so the folder has a short one
  const folder = mkdtempSync(join(tmpdir(), 'shoal-'))
  const socket = join(folder, 'engine.sock')
  server.listen(socket)
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    rmSync(folder, { recursive: true })
  })
  const add = (name: string): void => {
    const Id = Buffer.from(name.padEnd(32)).toString('hex')
    const labels = { 'com.docker.compose.project': 'shop' }
    containers.push({ Id, Names: [`/${name}`], Image: 'nginx:1.27', State: 'running' })
    Object.assign(containers.at(-1) ?? {}, { Created: 1_760_000_000, Labels: labels, Ports: [] })
  }
  return { socket, add }
}

/** The deltas that a stream of server-sent events has reported so far. */
const collectDeltas = (t: Test, response: Response): AnyJson[] => {
  const deltas: AnyJson[] = []
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  let text = ''
  const read = async (): Promise<void> => {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += Buffer.from(part.value).toString()
      const lines = text.split('\n')
      text = lines.pop() ?? ''
      for (const line of lines.filter(each => each.startsWith('data: {')))
        deltas.push(...(JSON.parse(line.slice(6)).data?.deltas ?? []))
    }
  }
  read().catch(() => {})
  t.teardown(() => reader.cancel())
  return deltas
}

t.test('discovery on every surface', async t => {
  const engine = await startEngine(t)
  const hook = await startHook(t)
  const modules = {
    'docker-inventory': { socket: engine.socket },
    // its scan joins groups on no interface of this machine
    'mdns-scan': { interfaces: ['lo'] },
  }
  const settings = { outbound: hook.outbound, upstreams: { egress: 'off' } }
  const { call, request } = await openDeviceFleet(t, [{ discovery: { modules } }], settings)
  const get = async (path: string) => (await call('operator', 'GET', path)).body as AnyJson
  const post = (path: string, body: object) =>
    call('operator', 'POST', path, body) as Promise<{ status: number; body: AnyJson }>
  const rpc = async (path: string, method: string, params: object, headers = {}) => {
    const body = { jsonrpc: '2.0', id: 1, method, params }
    const response = await request('operator', 'POST', path, body, headers)
    // a call that reports progress is answered with events, the last of which is the result
    const text = await response.text()
    const last = text.split('\n').findLast(line => line.startsWith('data: {'))
    return JSON.parse(last?.slice(6) ?? text).result
  }
  const tool = async (name: string, input: object = {}) => {
    const accept = 'application/json, text/event-stream'
    const headers = { accept, 'mcp-protocol-version': '2025-11-25' }
    return rpc('/mcp/', 'tools/call', { name, arguments: input }, headers)
  }
  /** Result of a skill that an A2A client calls. */
  const askAgent = async (skill: string, input: object = {}): Promise<AnyJson> => {
    const sent = await rpc('/a2a', 'SendMessage', { message: message({ data: { skill, input } }) })
    t.equal(sent.task.status.state, 'TASK_STATE_COMPLETED', skill)
    return sent.task.artifacts[0].parts[0].data
  }
  const cell = await waitUntil('the cell is ready', async () =>
    (await get('/v1/cells')).cells?.find((each: AnyJson) => each.presence === 'ready'),
  )

  const paths = ['/v1/events?types=shoal.discovery.delta', '/a2a/discovery/subscribe']
  const streams: AnyJson[][] = []
  for (const path of paths)
    streams.push(
      collectDeltas(
        t,
        await request('operator', 'GET', path, undefined, { accept: 'text/event-stream' }),
      ),
    )
  const subscribed = await post('/a2a/discovery/subscribe', { url: hook.url })
  t.match(subscribed, { status: 200, body: { types: ['shoal.discovery.delta'], secret: String } })

  await t.test('MCP runs a host module and reads its last result', async t => {
    engine.add('shop-web-1')
    const last = 'module-docker-inventory-last'
    t.match(await tool(last), { isError: true })
    const ran = await tool('module-docker-inventory-run')
    const findings = [{ cell_id: cell.id, kind: 'engine' }, { name: 'shop-web-1' }]
    t.match(ran.structuredContent, { findings })
    t.match((await tool(last, { cell: cell.id })).structuredContent, { findings })
  })

  await t.test('subscribers are told what appeared, and nothing twice', async t => {
    engine.add('shop-db-1')
    await tool('module-docker-inventory-run')
    const names = ['shop-web-1', 'shop-db-1']
    for (const [n, deltas] of streams.entries()) {
      await waitUntil(`both deltas on ${paths[n]}`, () => deltas.length >= 2)
      t.match(
        deltas,
        names.map((name, at) => ({ kind: 'appeared', name, seq: at + 1 })),
      )
    }
    const told = () => hook.got.flatMap(({ body }) => body.data.deltas)
    await waitUntil('both deltas at the webhook', () => told().length >= 2)
    t.strictSame(
      told()
        .map(({ name }) => name)
        .toSorted(),
      names.toSorted(),
    )
    t.ok(hook.got.every(({ body }) => body.type === 'shoal.discovery.delta'))
  })

  await t.test('agents ask for the inventory, its changes and its conflicts', async t => {
    t.match(await askAgent('discovery-status'), { modules: 30, entities: 2, entities_present: 2 })
    const { entities } = await askAgent('discovery-registry', { source: 'docker-inventory' })
    t.match(entities, [{ device_type: 'container', fields: { name: { cell_id: cell.id } } }, {}])
    t.strictSame((await askAgent('discovery-registry', { risk_level: 'critical' })).entities, [])
    t.match(await askAgent('discovery-delta', { hours: 1 }), {
      counts: { appeared: 2 },
      deltas: [{ name: 'shop-web-1' }, { name: 'shop-db-1' }],
    })
    t.match(await askAgent('discovery-correlate'), { compared: 2, candidates: [] })
  })

  await t.test('agents run modules', async t => {
    t.match(await askAgent('discovery-run-module', { module: 'docker-inventory' }), {
      answer: { findings: [{ cell_id: cell.id }] },
    })
    const quick = await askAgent('discovery-quick')
    t.match(
      quick.modules.find(({ module }: AnyJson) => module === 'docker-inventory'),
      { outcome: 'complete', findings: 3, cells: 1 },
    )
    const parts = await askAgent('wireless-full')
    t.match(parts, { mdns: { available: true, cells: [{ cell_id: cell.id }] } })
    for (const name of ['wifi', 'ble'])
      t.equal(parts[name].available || typeof parts[name].reason === 'string', true, name)
  })

  await t.test('the paths of the agent card answer', async t => {
    t.ok((await get('/a2a/discovery')).entities_present >= 2)
    const listed = await get('/a2a/discovery/registry?text=shop-w&limit=5')
    t.match(listed, { entities: [{ name: 'shop-web-1' }], next: null })
    t.match(await get('/a2a/discovery/dashboard'), {
      device_types: { container: 2 },
    })
    const begun = await post('/a2a/discovery/run', { modules: ['docker-inventory'] })
    t.equal(begun.status, 202)
    const ended = await waitUntil('the task has ended', async () => {
      const task = await get(`/v1/tasks/${begun.body.task_id}`)
      return task.state === 'completed' && task
    })
    t.match(ended.result, { modules: [{ module: 'docker-inventory', outcome: 'complete' }] })
    const whole = await post('/a2a/discovery/run', {})
    const seen = await waitUntil('the scan of what is there has ended', async () => {
      const task = await get(`/v1/tasks/${whole.body.task_id}`)
      return task.state === 'completed' && task.result
    })
    t.strictSame(
      seen.modules.map(({ module }: { module: string }) => module),
      ['host-scan', 'network-map', 'mdns-scan', 'runtime-discover'],
    )
    t.match(seen.modules[0], { outcome: 'complete' })
    // a machine with IPv6 has ::1 too
    const own = seen.hosts.find((host: { cell_id: string }) => host.cell_id === cell.id)
    t.ok(own.addresses.includes('127.0.0.1'))
    t.strictSame(own.found_by, ['host-scan'])
    for (const limit of seen.limited_by) t.type(limit, 'string')
    const csv = await request(
      'operator',
      'GET',
      '/a2a/discovery/export?format=csv&source=docker-inventory',
    )
    t.match(csv.headers.get('content-type'), /^text\/csv/)
    t.match(await csv.text(), /^entity_id,.+\r\n(ent_.+,container,.+\r\n){2}$/)
  })

  await t.test('a module that needs an input is refused with its names', async t => {
    const run = (module: string) => post('/v1/skills/discovery-run-module', { module })
    t.match(await run('whois-lookup'), {
      status: 422,
      body: { error: { param: 'domain', message: /whois-lookup needs domain/ } },
    })
    t.match(await run('weather-forecast'), {
      status: 422,
      body: { error: { message: /lat.*lon/ } },
    })
  })
})
