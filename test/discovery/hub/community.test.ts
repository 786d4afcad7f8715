import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import {
  issueAuthority,
  issueServerCertificate,
} from '../../../coordinator/kernel/tls/certificate.ts'
import type { MatrixServers } from '../../../discovery/modules/community/matrix-discover.ts'
import type { RegistrySearch } from '../../../discovery/modules/community/registry-search.ts'
import type { RepoReleases } from '../../../discovery/modules/community/repo-releases.ts'
import type { CloudInventory } from '../../../discovery/modules/infrastructure/cloud-discover.ts'
import { readRepo } from '../../../discovery/runs/community/repo-releases.ts'
import { parseAllowed } from '../../../shared/outbound/allow-list.ts'
import type { SourceAnswer, SourceRequest } from '../../support/upstream-server.ts'
import { runLookup, type UpstreamTestOptions } from '../../support/upstreams.ts'

const list = (t: Parameters<typeof runLookup>[0], input: object, options: UpstreamTestOptions) =>
  runLookup<RepoReleases>(t, 'repo-releases', input, options)

t.test('releases are listed without drafts, with the newest stable one', async t => {
  const { data } = await list(
    t,
    { repos: ['https://github.com/Muster/Werkzeug.git'] },
    {
      answers: { github: 'good.json' },
    },
  )
  t.match(data.repos, [
    {
      repo: 'Muster/Werkzeug',
      found: true,
      renamed_to: null,
      latest: {
        tag: 'v2.0.0',
        notes: null,
        assets: [{ size_bytes: 1234, sha256: 'a'.repeat(64) }],
      },
      releases: [{ tag: 'v2.1.0-rc1', prerelease: true }, { tag: 'v2.0.0' }],
    },
  ])
})

t.test('a renamed repository, one with tags alone, and a missing one are told apart', async t => {
  const github: SourceAnswer = ({ path }) => {
    if (path.includes('/none')) return { status: 404, body: '{}', headers: JSON_TYPE }
    if (path.includes('/tags')) return 'tags.json'
    return path.includes('/only-tags') ? { body: '[]', headers: JSON_TYPE } : 'good.json'
  }
  const repos = ['alt/name', 'muster/only-tags', 'muster/none']
  const { data } = await list(t, { repos }, { answers: { github } })
  t.match(data.repos, [
    { renamed_to: 'muster/werkzeug' },
    { found: true, latest: { tag: 'v0.9', published_at: null } },
    { found: false, error: /no public repository/ },
  ])
})

const JSON_TYPE = { 'content-type': 'application/json' }

t.test(
  'without repositories in the call those of the configuration are read, or the call is refused',
  async t => {
    const answers = { github: 'good.json' } as const
    const sources = { github: { repos: ['muster/werkzeug'] } }
    t.equal((await list(t, {}, { answers, sources })).data.repos.length, 1)
    await t.rejects(list(t, {}, { answers }), { code: 'invalid_request' })
    for (const text of ['no', 'a/b/c', '../x', 'https://other.example/a/b'])
      t.throws(() => readRepo(text), /is not a repository/, text)
  },
)

t.test('registries are searched together, the best match first', async t => {
  const sources = { 'mcp-registry': { origins: ['local', 'mcp', 'npm', 'docker'] } }
  const answers = { 'mcp-registry': 'good.json', npm: 'good.json', dockerhub: 'good.json' } as const
  const local = {
    origin: 'local' as const,
    id: 'ent_1',
    name: 'weather',
    description: null,
    version: null,
    kind: 'sensor',
    url: null,
    updated_at: null,
    score: 1,
  }
  const { data } = await runLookup<RegistrySearch>(
    t,
    'registry-search',
    { query: 'weather' },
    {
      answers,
      sources,
      searchEntities: async () => [local],
    },
  )
  t.strictSame(
    data.items.map(({ origin, id }) => `${origin} ${id}`),
    [
      'local ent_1',
      'mcp io.muster.user/weather',
      'docker muster/weather',
      'npm weather',
      'mcp io.flat/weathermap',
    ].sort((a, b) => scoreOf(b) - scoreOf(a) || (idOf(a) < idOf(b) ? -1 : 1)),
  )
  t.notOk(
    data.items.some(({ id }) => id.endsWith('weather-old')),
    'deleted servers are left out',
  )
})

const idOf = (text: string): string => text.split(' ')[1] ?? ''
const scoreOf = (text: string): number => (idOf(text) === 'io.flat/weathermap' ? 0.6 : 1)

t.test('a registry that fails leaves the others', async t => {
  const { data, warnings } = await runLookup<RegistrySearch>(
    t,
    'registry-search',
    { query: 'weather' },
    {
      answers: { 'mcp-registry': 'html' },
    },
  )
  t.equal(data.total, 0)
  t.match(warnings, [{ code: 'partial_result', source: 'mcp-registry' }])
})

t.test('an account is listed with its resources and costs', async t => {
  const hetzner = ({ path }: SourceRequest) =>
    (path.startsWith('/servers') ? 'servers.json' : 'others.json') as 'servers.json'
  const sources = { hetzner: { key: 'secret-0815' } }
  const { data, server } = await runLookup<CloudInventory>(
    t,
    'cloud-discover',
    {},
    { answers: { hetzner }, sources },
  )
  t.match(data, {
    configured: true,
    region_count: 1,
    totals: { servers: 2, running: 1, monthly_cost_eur: 184 },
  })
  t.match(data.resources[0], {
    cpu_cores: 16,
    memory_bytes: 64 * 1024 ** 3,
    private_ips: ['10.0.0.2'],
  })
  t.strictSame(
    data.resources.map(({ kind }) => kind),
    ['server', 'server', 'network', 'volume', 'floating_ip'],
  )
  t.ok(server.requests.every(({ headers }) => headers.authorization === 'Bearer secret-0815'))
})

t.test('a provider without a key is not configured, and nothing is asked', async t => {
  const { data, server, warnings } = await runLookup<CloudInventory>(
    t,
    'cloud-discover',
    { provider: 'digitalocean' },
    {
      answers: { digitalocean: 'good.json' },
    },
  )
  t.match(data, { configured: false, resources: [] })
  t.match(warnings, [{ code: 'auth_missing' }])
  t.equal(server.requests.length, 0)
  const sources = { digitalocean: { key: 'secret-0815' } }
  const found = await runLookup<CloudInventory>(
    t,
    'cloud-discover',
    { provider: 'digitalocean' },
    {
      answers: { digitalocean: 'good.json' },
      sources,
    },
  )
  t.match(found.data.resources, [{ id: '7', ipv4: ['198.51.100.9'], memory_bytes: 8 * 1024 ** 3 }])
})

t.test(
  'a Matrix server is described by its own documents, and one that is limited says so',
  async t => {
    const span = { from: Date.now() - 60_000, to: Date.now() + 3_600_000 }
    const authority = await issueAuthority('test', span)
    const { certificate, key } = await issueServerCertificate(authority, ['localhost'], span)
    let isLimited = false
    const documents: Record<string, object> = {
      '/_matrix/client/versions': { versions: ['v1.11'] },
      '/_matrix/client/v3/login': {
        flows: [{ type: 'm.login.password' }, { type: 'm.login.sso' }],
      },
      '/_matrix/federation/v1/version': { server: { name: 'Synapse', version: '1.120.0' } },
    }
    const pem = key.export({ type: 'pkcs8', format: 'pem' }) as string
    const server = createServer({ cert: `${certificate}`, key: pem }, ({ url = '' }, response) => {
      const found = documents[url]
      if (isLimited) response.writeHead(429, { 'retry-after': '600' }).end()
      else response.writeHead(found ? 200 : 404, JSON_TYPE).end(JSON.stringify(found ?? {}))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const name = `localhost:${port}`
    const look = () =>
      runLookup<MatrixServers>(
        t,
        'matrix-discover',
        {},
        {
          sources: { matrix: { servers: [name] }, dns: { servers: ['127.0.0.1:1'] } },
          ca: `${authority.certificate}`,
          rules: { allowed: [parseAllowed(name)].flatMap(each => each ?? []), allowHttp: false },
          resolve: async () => [{ address: '127.0.0.1', family: 4 }],
        },
      )
    const { data } = await look()
    t.match(data.servers, [
      {
        server_name: name,
        software: 'Synapse',
        version: '1.120.0',
        spec_versions: ['v1.11'],
        sso: true,
        client_ok: true,
        federation_ok: true,
        errors: [],
      },
    ])
    isLimited = true
    t.match((await look()).data.servers, [{ client_ok: false, errors: [/HTTP 429/] }])
  },
)

t.test(
  'Matrix servers are none until some are configured, and one that fails says why',
  async t => {
    const empty = await runLookup<MatrixServers>(t, 'matrix-discover', {}, {})
    t.strictSame(empty.data.servers, [])
    // names are never asked for in tests, which is how these servers fail
    const failing = { fail: () => false, teardown: t.teardown.bind(t) }
    const { data } = await runLookup<MatrixServers>(
      failing,
      'matrix-discover',
      {},
      {
        sources: { matrix: { servers: ['chat.shoal.example'] }, dns: { servers: ['127.0.0.1:1'] } },
      },
    )
    t.match(data.servers, [
      {
        server_name: 'chat.shoal.example',
        client_ok: false,
        federation_ok: false,
        delegated_by: 'default',
      },
    ])
    t.ok((data.servers[0]?.errors.length ?? 0) > 0)
  },
)
