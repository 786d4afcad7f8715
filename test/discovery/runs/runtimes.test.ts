import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import apiModule from '../../../discovery/modules/ai_ml/llm-api-discover.ts'
import runtimeModule from '../../../discovery/modules/ai_ml/runtime-discover.ts'
import apiRun, { config as apiConfig } from '../../../discovery/runs/ai_ml/llm-api-discover.ts'
import runtimeRun from '../../../discovery/runs/ai_ml/runtime-discover.ts'
import { identifyRuntime } from '../../../discovery/runs/ai_ml/runtimes/identify-runtime.ts'
import { openRuntimePort } from '../../../discovery/runs/ai_ml/runtimes/open-runtime-port.ts'
import { parseMetrics } from '../../../discovery/runs/ai_ml/runtimes/read-load.ts'
import { RuntimePort } from '../../../discovery/runs/ai_ml/runtimes/runtime-port.ts'
import {
  LLM_DECOYS,
  LLM_STAND_INS,
  type SeenRequest,
  type StandIn,
  startStandIn,
} from '../../support/llm-stand-ins.ts'
import { createScanContext, listRows } from '../../support/scan-context.ts'

const signal = new AbortController().signal

/** Starts stand-ins at their real ports, each at a loopback address of its own. */
const startAll = async (t: Test, stands: readonly Pick<StandIn, 'port' | 'routes'>[]) => {
  const network = `127.${64 + (process.pid % 128)}.${(process.pid >> 7) % 250}`
  const seen: SeenRequest[] = []
  for (const [index, each] of stands.entries()) {
    const server = await startStandIn(each, `${network}.${index + 1}`, request =>
      seen.push(request),
    )
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
  }
  return { network, seen, addressOf: (index: number) => `${network}.${index + 1}` }
}

// ports below 1024 take root; other systems have no loopback network
const isPossible = process.platform === 'linux' && process.getuid?.() === 0
const skip = isPossible ? false : 'it takes Linux and root'

t.test('runtime-discover names every runtime by its answers', { skip }, async t => {
  const { network, seen, addressOf } = await startAll(t, [...LLM_STAND_INS, ...LLM_DECOYS])
  const rows = await listRows(
    runtimeModule,
    runtimeRun({ subnet: `${network}.0/27` }, createScanContext({})),
  )

  t.strictSame(
    rows.map(({ host, kind }) => `${host} ${kind}`).toSorted(),
    LLM_STAND_INS.map(({ kind }, index) => `${addressOf(index)} ${kind}`).toSorted(),
    'each once, and no decoy',
  )
  for (const [index, { kind, models, isOpen }] of LLM_STAND_INS.entries()) {
    const row = rows.find(({ host }) => host === addressOf(index))
    t.strictSame(
      row?.models.map(({ id }) => id),
      models,
      `models of ${kind}`,
    )
    t.equal(row?.is_open, isOpen, `${kind} is open`)
  }
  const byKind = new Map(rows.map(row => [row.kind, row]))
  t.match(byKind.get('ollama'), {
    version: '0.9.1',
    state: 'ready',
    models: [{ loaded: true, vram_bytes: 6e9, context_length: 8192 }, { type: 'embedding' }],
  })
  t.match(byKind.get('vllm'), {
    version: '0.11.0',
    models: [{ context_length: 32_768 }],
    load: { running: 3, queued: 0, kv_cache_percent: 12.5 },
  })
  t.match(byKind.get('llama-cpp'), {
    models: [{ parameters: '14.7B' }],
    load: { tokens_per_s: 41.5 },
  })
  t.match(byKind.get('litellm'), { state: 'auth_required' })

  t.test('and sends no prompt, no credential and nothing that changes a state', async t => {
    t.ok(seen.length > 0)
    const isListing = ({ method, path, body }: SeenRequest): boolean =>
      method === 'GET' || (path === '/v2/repository/index' && body === '{}')
    t.strictSame(
      seen.filter(request => !isListing(request) || request.hasCredentials),
      [],
    )
  })

  t.test('and reports services, models and access to the registry', async t => {
    const [sighting] =
      runtimeModule.observe?.({ ...byKind.get('ollama'), host: '10.0.0.9' }, { cellId: 'a' }) ?? []
    t.match(sighting, {
      keys: [{ kind: 'ip', value: '10.0.0.9' }],
      facts: {
        services: [{ port: 11_434, name: 'ollama', version: '0.9.1', is_open: true }],
        models: ['qwen3:8b', 'nomic-embed-text:latest'],
      },
    })
  })
})

const openAt = async (t: Test, routes: StandIn['routes']): Promise<RuntimePort> => {
  const server = await startStandIn({ port: 0, routes }, '127.0.0.1')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return new RuntimePort({
    ...{ host: '127.0.0.1', address: '127.0.0.1', port, isTls: false },
    ...{ scope: { entries: [] }, signal, timeoutMs: 2000 },
  })
}

t.test('a runtime that loads its weights, and one whose list is public, are not open', async t => {
  const loading = [503, { error: { code: 503, type: 'unavailable_error' } }] as [number, object]
  t.match(await identifyRuntime(await openAt(t, { '/health': loading, '/v1/models': loading })), {
    kind: 'llama-cpp',
    state: 'loading',
    is_open: null,
  })
  const list = { object: 'list', data: [{ id: 'a', owned_by: 'llamacpp' }] }
  t.match(await identifyRuntime(await openAt(t, { '/v1/models': list, '/props': [401, {}] })), {
    kind: 'llama-cpp',
    state: 'auth_required',
    is_open: false,
  })
})

t.test('a port without an answer is asked twice at most', async t => {
  let connections = 0
  const server = createServer(socket => {
    connections++
    socket.on('error', () => {})
    socket.end('SSH-2.0-OpenSSH_9.2\r\n')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const endpoint = await openRuntimePort({
    ...{ host: '127.0.0.1', address: '127.0.0.1', port },
    ...{ scope: { entries: [] }, signal, timeoutMs: 2000 },
  })
  t.equal(endpoint, undefined)
  t.equal(connections, 2)
})

t.test('samples of metrics are added up by name', t => {
  const metrics = parseMetrics('# TYPE a gauge\na{x="1"} 2\na{x="2"} 3\nb NaN\nc:d 1e3\n')
  t.strictSame(
    [...metrics],
    [
      ['a', 5],
      ['c:d', 1000],
    ],
  )
  t.end()
})

t.test('llm-api-discover', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-apis-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const key_file = join(folder, 'key')
  writeFileSync(key_file, 'sk-test\n')
  const seen: SeenRequest[] = []
  const list = {
    data: [
      { id: 'm', context_length: 4096, pricing: { prompt: '0.0000025', completion: '0.00001' } },
    ],
  }
  const server = await startStandIn(
    { port: 0, routes: { '/v1/models': list } },
    '127.0.0.1',
    each => seen.push(each),
  )
  t.teardown(() => server.close())
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const config = {
    endpoints: [
      { name: 'mine', base_url, key_file, allow_http: true },
      { name: 'far', base_url: 'http://192.0.2.1/v1' },
    ],
  }
  const warnings: string[] = []
  const context = createScanContext({ config, onWarning: (_, message) => warnings.push(message) })
  const rows = await listRows(apiModule, apiRun({}, context))
  const byName = new Map(rows.map(row => [row.name, row]))

  t.test('asks configured endpoints with their key, in scope only', async t => {
    t.match(byName.get('mine'), {
      scope: 'self',
      auth: 'bearer',
      reachable: true,
      models: [{ id: 'm', input_usd_per_mtok: 2.5, output_usd_per_mtok: 10 }],
    })
    t.match(byName.get('far'), { reachable: null, address: null })
    t.match(warnings, [/192\.0\.2\.1 is outside the scope/])
    t.strictSame(
      seen.map(({ method, path, hasCredentials }) => ({ method, path, hasCredentials })),
      [{ method: 'GET', path: '/v1/models', hasCredentials: true }],
    )
    t.notMatch(JSON.stringify(rows), /sk-test/)
  })

  t.test('sends a key to its own origin and to no other server', async t => {
    const others: SeenRequest[] = []
    const other = await startStandIn(
      { port: 0, routes: { '/v1/models': list } },
      '127.0.0.1',
      each => others.push(each),
    )
    const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
    const moved = createServer(socket => {
      socket.on('error', () => {})
      socket.once('data', () =>
        socket.end(`HTTP/1.1 307 Moved\r\nlocation: ${elsewhere}/v1/models\r\n\r\n`),
      )
    }).listen(0, '127.0.0.1')
    await once(moved, 'listening')
    t.teardown(() => {
      other.close()
      moved.close()
    })
    const movedUrl = `http://127.0.0.1:${(moved.address() as AddressInfo).port}/v1`
    const endpoints = [
      { name: 'moved', base_url: movedUrl, key_file, allow_http: true },
      { name: 'open', base_url: `${elsewhere}/v1` },
    ]
    const asked = await listRows(
      apiModule,
      apiRun({}, createScanContext({ config: { endpoints } })),
    )
    t.match(asked.find(({ name }) => name === 'moved')?.models, [])
    t.strictSame(
      others.map(({ hasCredentials }) => hasCredentials),
      [false],
    )
  })

  t.test('refuses a key over http unless the configuration allows it', async t => {
    const faultOf = (endpoint: object) =>
      apiConfig.safeParse({ endpoints: [{ name: 'a', ...endpoint }] }).error?.issues[0]?.message
    t.match(faultOf({ base_url: 'http://10.0.0.1/v1', key_file }), /only with allow_http: true/)
    t.equal(faultOf({ base_url: 'http://10.0.0.1/v1', key_file, allow_http: true }), undefined)
    t.equal(faultOf({ base_url: 'https://llm.example/v1', key_file }), undefined)
    for (const base_url of ['https://user:pw@llm.example/v1', 'https://llm.example/v1?key=sk'])
      t.match(faultOf({ base_url }), /neither credentials nor a query/)
  })

  t.test('a provider that was not asked has no row', async t => {
    t.equal(byName.get('openrouter'), undefined)
  })
})
