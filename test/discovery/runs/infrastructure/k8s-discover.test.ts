import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import {
  issueAuthority,
  issueServerCertificate,
} from '../../../../coordinator/kernel/tls/certificate.ts'
import k8sDiscover from '../../../../discovery/modules/infrastructure/k8s-discover.ts'
import { findAccess } from '../../../../discovery/runs/infrastructure/k8s/find-access.ts'
import { parseQuantity } from '../../../../discovery/runs/infrastructure/k8s/parse-quantity.ts'
import run from '../../../../discovery/runs/infrastructure/k8s-discover.ts'
import { createScanContext, listRows } from '../../../support/scan-context.ts'

const TOKEN = 'token-of-the-cell'
const meta = (name: string, namespace?: string) => ({ name, namespace, uid: `uid-${name}` })

const NODE = {
  metadata: { ...meta('gpu-1'), labels: { 'node-role.kubernetes.io/control-plane': '' } },
  spec: {},
  status: {
    capacity: { cpu: '16', memory: '65611280Ki', 'nvidia.com/gpu': '2' },
    conditions: [{ type: 'Ready', status: 'True' }],
    nodeInfo: { kubeletVersion: 'v1.31.2', osImage: 'Debian', architecture: 'amd64' },
    addresses: [
      { type: 'InternalIP', address: '10.0.0.10' },
      { type: 'Hostname', address: 'gpu-1' },
    ],
  },
}
const pod = (name: string, phase: string, owner: string, gpus?: string) => ({
  metadata: { ...meta(name, 'shop'), ownerReferences: [{ kind: owner, controller: true }] },
  spec: {
    containers: [
      { image: `${name}:1`, resources: gpus ? { limits: { 'nvidia.com/gpu': gpus } } : {} },
    ],
  },
  status: { phase, conditions: [{ type: 'Ready', status: 'True' }] },
})
const PODS = [
  pod('a', 'Running', 'ReplicaSet', '1'),
  pod('b', 'Pending', 'Job'),
  pod('c', 'Failed', 'Job', '1'),
]
/** Template of pods with one container, and one that prepares it. */
const TEMPLATE = {
  spec: { containers: [{ image: 'nginx:1.27' }], initContainers: [{ image: 'busybox:1' }] },
}
const LISTS: Record<string, unknown[]> = {
  '/api/v1/nodes': [NODE],
  '/api/v1/namespaces': [{ metadata: meta('kube-system') }, { metadata: meta('shop') }],
  '/api/v1/services': [
    {
      metadata: meta('web', 'shop'),
      spec: { type: 'NodePort', clusterIP: '10.96.0.7', ports: [{ port: 80, nodePort: 30080 }] },
    },
  ],
  '/apis/apps/v1/deployments': [
    {
      metadata: meta('web', 'shop'),
      spec: { replicas: 3, template: TEMPLATE },
      status: { readyReplicas: 2 },
    },
  ],
  '/apis/apps/v1/statefulsets': [
    { metadata: meta('db', 'shop'), spec: { replicas: 1, template: TEMPLATE } },
  ],
  '/apis/apps/v1/daemonsets': [
    {
      metadata: meta('logs', 'shop'),
      spec: { template: TEMPLATE },
      status: { desiredNumberScheduled: 4, numberReady: 3 },
    },
  ],
}

interface Seen {
  path: string
  authorization: string | undefined
}

/** A stand-in of an API server; pods come in pages of one, and the first token expires once. */
const openCluster = async (t: Test, forbidden: readonly string[] = []) => {
  const validity = { from: Date.now() - 60_000, to: Date.now() + 3_600_000 }
  const authority = await issueAuthority('cluster', validity)
  const { certificate, key } = await issueServerCertificate(authority, ['127.0.0.1'], validity)
  const pem = { cert: `${certificate}`, key: key.export({ type: 'pkcs8', format: 'pem' }) }
  const seen: Seen[] = []
  let expiries = 1
  const answer = (url: URL, isKnown: boolean): [number, unknown] => {
    const { pathname } = url
    if (pathname === '/version') return [200, { gitVersion: 'v1.31.2', platform: 'linux/amd64' }]
    if (pathname === '/readyz') return [200, 'ok']
    if (!isKnown)
      return [401, { kind: 'Status', reason: 'Unauthorized', message: 'who', code: 401 }]
    if (forbidden.includes(pathname))
      return [403, { kind: 'Status', reason: 'Forbidden', message: 'may not list', code: 403 }]
    if (pathname !== '/api/v1/pods') return [200, { metadata: {}, items: LISTS[pathname] }]
    const at = Number(url.searchParams.get('continue') ?? 0)
    if (at === 1 && expiries-- > 0) return [410, { kind: 'Status', reason: 'Expired', code: 410 }]
    const more = at + 1 < PODS.length ? { continue: String(at + 1) } : {}
    return [200, { metadata: more, items: [PODS[at]] }]
  }
  const server = createServer({ ...pem, key: String(pem.key) }, (request, response) => {
    const { authorization } = request.headers
    const url = new URL(request.url ?? '', 'https://cluster')
    seen.push({ path: url.pathname, authorization })
    const [status, body] = answer(url, authorization === `Bearer ${TOKEN}`)
    response.writeHead(status).end(JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, seen, ca: `${authority.certificate}` }
}

/** A kubeconfig with one cluster, in a folder of the test. */
const writeKubeconfig = (t: Test, server: string, ca: string, user: object, cluster = {}) => {
  const file = join(t.testdir({}), 'config')
  const data = Buffer.from(ca).toString('base64')
  const text = stringify({
    'current-context': 'main',
    contexts: [{ name: 'main', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': data, ...cluster } }],
    users: [{ name: 'u', user }],
  })
  writeFileSync(file, text)
  return file
}

const scan = async (config: object, input: { api_server?: string } = {}) => {
  const warnings: string[] = []
  const context = createScanContext({
    config,
    onWarning: (code, message) => warnings.push(`${code} ${message}`),
  })
  return { rows: await listRows(k8sDiscover, run(input, context)), warnings }
}

t.test('k8s-discover reads a cluster with the credentials of a kubeconfig', async t => {
  const { url, ca, seen } = await openCluster(t)
  const { rows, warnings } = await scan({
    kubeconfig: writeKubeconfig(t, url, ca, { token: TOKEN }),
  })
  t.strictSame(warnings, [])
  t.match(rows[0], {
    ...{ kind: 'cluster', uid: 'uid-kube-system', api_server: url },
    cluster: {
      ...{ is_reachable: true, is_authenticated: true, is_ready: true, version: 'v1.31.2' },
      pods: { total: 3, running: 1, pending: 1, failed: 1, gpu_requests: 1 },
    },
  })
  t.match(rows[1], {
    ...{ kind: 'node', name: 'gpu-1' },
    node: { cpu_cores: 16, memory_bytes: 65_611_280 * 1024, gpus: 2, roles: ['control-plane'] },
  })
  t.match(rows.slice(2), [
    { kind: 'namespace', name: 'kube-system', pods: { total: 0 } },
    { kind: 'namespace', name: 'shop', pods: { total: 3 } },
    {
      name: 'web',
      workload: { kind: 'deployment', replicas: 3, ready: 2, images: ['nginx:1.27', 'busybox:1'] },
    },
    { name: 'db', workload: { kind: 'stateful_set', replicas: 1, ready: 0 } },
    { name: 'logs', workload: { kind: 'daemon_set', replicas: 4, ready: 3 } },
    { name: 'b', workload: { kind: 'pod', replicas: 1, ready: 1, images: ['b:1'] } },
    { kind: 'service', service: { type: 'NodePort', ports: [{ port: 80, node_port: 30080 }] } },
  ])
  t.notMatch(seen.map(({ path }) => path).join(), /secrets|configmaps/)
  t.match(k8sDiscover.observe?.(rows[1] as never, { cellId: 'c' }), [
    {
      keys: [
        { kind: 'kubernetes_uid', value: 'uid-gpu-1' },
        { kind: 'ip', value: '10.0.0.10' },
      ],
      facts: { name: 'gpu-1', ip_addresses: ['10.0.0.10'] },
    },
  ])
})

t.test('a server that the caller names never gets the token of another one', async t => {
  const own = await openCluster(t)
  const other = await openCluster(t)
  const kubeconfig = writeKubeconfig(t, own.url, own.ca, { token: TOKEN })
  const { rows, warnings } = await scan({ kubeconfig }, { api_server: other.url })
  t.match(rows, [{ cluster: { is_reachable: true, is_authenticated: false, version: 'v1.31.2' } }])
  t.equal(rows.length, 1)
  t.match(warnings[0], /^auth_missing no credentials are configured for this server/)
  t.ok(other.seen.every(({ authorization }) => authorization === undefined))
  t.equal(own.seen.length, 0)
  const same = await scan({ kubeconfig }, { api_server: `${own.url}/` })
  t.match(same.rows[0], { cluster: { is_authenticated: true } })
})

t.test('credentials go to no server whose certificate is not that of the cluster', async t => {
  const cluster = await openCluster(t)
  const { ca } = await openCluster(t)
  const kubeconfig = writeKubeconfig(t, cluster.url, ca, { token: TOKEN })
  const { rows, warnings } = await scan({ kubeconfig })
  t.match(rows, [{ cluster: { is_reachable: false, version: null } }])
  t.match(warnings[0], /certificate|signature/)
  t.equal(cluster.seen.length, 0)
  const skip = { 'insecure-skip-tls-verify': true }
  const open = { kubeconfig: writeKubeconfig(t, cluster.url, ca, { token: TOKEN }, skip) }
  await scan(open)
  t.ok(cluster.seen.every(({ authorization }) => authorization === undefined))
})

t.test('a program that a kubeconfig names is not run', async t => {
  const { url, ca } = await openCluster(t)
  const marker = join(t.testdir({}), 'ran')
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'touch', args: [marker] }
  const { rows, warnings } = await scan({ kubeconfig: writeKubeconfig(t, url, ca, { exec }) })
  t.match(warnings[0], /^auth_missing .*program, which is never run/)
  t.match(rows, [{ cluster: { is_authenticated: false } }])
})

t.test('a kind that may not be listed costs that kind only', async t => {
  const { url, ca } = await openCluster(t, [
    '/api/v1/pods',
    '/api/v1/nodes',
    '/apis/apps/v1/daemonsets',
  ])
  const { rows, warnings } = await scan({
    kubeconfig: writeKubeconfig(t, url, ca, { token: TOKEN }),
  })
  t.match(rows[0], { cluster: { pods: null, is_authenticated: true } })
  t.equal(rows.filter(({ kind }) => kind === 'namespace').length, 2)
  t.match(warnings, [
    /nodes answered 403 Forbidden/,
    /pods answered 403/,
    /daemonsets answered 403 Forbidden: may not list/,
  ])
  const kinds = rows.flatMap(({ workload }) => workload?.kind ?? [])
  t.strictSame(kinds, ['deployment', 'stateful_set'])
})

t.test('a server outside the scope is not contacted', async t => {
  const config = { api_server: 'https://192.0.2.1:6443' }
  await t.rejects(scan(config), { code: 'scope_denied' })
  await t.rejects(scan(config, { api_server: 'https://192.0.2.2:6443' }), { code: 'scope_denied' })
})

t.test('without a configured cluster it is not possible', async t => {
  t.equal(findAccess({}, {}, t.testdir({})), undefined)
  await t.rejects(scan({ kubeconfig: '/nonexistent' }), { name: 'NotPossibleHere' })
  const folder = t.testdir({ token: TOKEN, 'ca.crt': 'pem' })
  t.match(findAccess({}, { KUBERNETES_SERVICE_HOST: 'fd00::1' }, folder), {
    ...{ server: 'https://[fd00::1]', credentials: { token: TOKEN } },
  })
})

t.test('quantities have decimal, binary and exponent suffixes', t => {
  for (const [text, value] of [
    ['16', 16],
    ['250m', 0.25],
    ['2Ki', 2048],
    ['1.5Gi', 1.5 * 2 ** 30],
    ['128M', 128e6],
    ['1k', 1000],
    ['12e6', 12e6],
    ['2E', 2e18],
    ['3E3', 3000],
    ['', undefined],
    ['12 Gi', undefined],
    ['1Q', undefined],
  ] as const)
    t.equal(parseQuantity(text), value, text)
  t.end()
})
