import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import dockerInventory from '../../../../discovery/modules/infrastructure/docker-inventory.ts'
import { explainFailure } from '../../../../discovery/runs/infrastructure/docker/engine-client.ts'
import { listSockets } from '../../../../discovery/runs/infrastructure/docker/list-sockets.ts'
import run from '../../../../discovery/runs/infrastructure/docker-inventory.ts'
import { createScanContext, listRows } from '../../../support/scan-context.ts'

const ID = 'a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90'
const CREATED = 1_760_000_000

const ANSWERS: Record<string, unknown> = {
  '/version': {
    Version: '27.3.1',
    ApiVersion: '1.47',
    MinAPIVersion: '1.24',
    Components: [{ Name: 'Engine', Version: '27.3.1' }],
  },
  '/v1.47/info': {
    ...{ NCPU: 16, MemTotal: 67_430_219_776, Name: 'gpu-1', KernelVersion: '6.8.0' },
    OperatingSystem: 'Debian GNU/Linux 12',
    Runtimes: { runc: { path: 'runc' }, nvidia: { path: 'nvidia-container-runtime' } },
    Swarm: { LocalNodeState: 'inactive' },
  },
  '/v1.47/containers/json?all=1': [
    {
      Id: ID,
      Names: ['/shop-web-1'],
      Image: 'nginx:1.27',
      ImageID: `sha256:${ID}`,
      Command: 'nginx --token=SECRET-IN-COMMAND',
      Created: CREATED,
      State: 'running',
      Status: 'Up 4 days (healthy)',
      Env: ['PASSWORD=SECRET-IN-ENV'],
      Ports: [
        { IP: '0.0.0.0', PrivatePort: 80, PublicPort: 8080, Type: 'tcp' },
        { PrivatePort: 443, Type: 'tcp' },
      ],
      Labels: {
        'com.docker.compose.project': 'shop',
        'org.opencontainers.image.version': '1.27',
        'traefik.http.middlewares.auth.basicauth.users': 'admin:SECRET-IN-LABEL',
      },
      HostConfig: { NetworkMode: 'shop_default' },
      NetworkSettings: { Networks: { shop_default: { IPAddress: '172.20.0.2' } } },
      Mounts: [{ Type: 'volume', Name: 'data', Source: '/v', Destination: '/data', RW: false }],
    },
    { Id: ID.replace('a', 'b'), Names: null, Created: CREATED, State: 'exited', Labels: null },
    { Id: 7 },
  ],
  '/v1.47/images/json': [
    { Id: `sha256:${ID}`, RepoTags: ['nginx:1.27'], Created: CREATED, Size: 190_000_000 },
    { Id: `sha256:${ID}`, RepoTags: null, Created: CREATED, Size: 1, Labels: null },
  ],
  '/v1.47/networks': [
    {
      ...{ Id: ID, Name: 'shop_default', Driver: 'bridge', Scope: 'local', Internal: false },
      IPAM: { Config: [{ Subnet: '172.20.0.0/16' }] },
    },
  ],
  '/v1.47/volumes': {
    Volumes: [{ Name: 'data', Driver: 'local', Mountpoint: '/var/lib/docker/volumes/data/_data' }],
    Warnings: null,
  },
}

/** Paths of sockets have at most 107 bytes (unix(7)), so the folder has a short one. */
const createFolder = (t: Test): string => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return folder
}

/** A stand-in of the engine at a unix socket; returns its path and the requests. */
const openEngine = async (t: Test, answers: Record<string, unknown> = ANSWERS) => {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    const answer = answers[request.url ?? '']
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer ?? { message: 'page not found' }))
  })
  const socket = join(createFolder(t), 'engine.sock')
  server.listen(socket)
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { socket, requests }
}

const scan = async (socket: string) => {
  const warnings: string[] = []
  const context = createScanContext({
    config: { socket },
    onWarning: (_code, message) => warnings.push(message),
  })
  return { rows: await listRows(dockerInventory, run({}, context)), warnings }
}

t.test('docker-inventory lists what the engine has, and only asks', async t => {
  const { socket, requests } = await openEngine(t)
  const { rows, warnings } = await scan(socket)
  t.strictSame(
    rows.map(({ kind }) => kind),
    ['engine', 'container', 'container', 'image', 'image', 'network', 'volume'],
  )
  t.match(rows[0], {
    name: 'gpu-1',
    engine: { product: 'docker', api_version: '1.47', gpu_runtime: true, cpus: 16 },
  })
  t.match(rows[1], {
    id: 'a1b2c3d4e5f6',
    name: 'shop-web-1',
    container: {
      ...{ health: 'healthy', compose_project: 'shop', has_gpu: null },
      ports: [
        { ip: '0.0.0.0', private: 80, public: 8080, protocol: 'tcp' },
        { ip: null, private: 443, public: null },
      ],
      networks: [{ name: 'shop_default', ip: '172.20.0.2' }],
      mounts: [{ type: 'volume', is_writable: false }],
    },
  })
  t.match(rows[2], { name: 'b1b2c3d4e5f6', container: { state: 'exited', health: 'none' } })
  t.match(rows[5], { network: { subnets: ['172.20.0.0/16'] } })
  t.match(warnings, [/^1 entries of .containers/])
  t.ok(requests.every(request => request.startsWith('GET ')))
})

t.test('labels are named, but only documented ones have values', async t => {
  const { socket } = await openEngine(t)
  const { rows } = await scan(socket)
  const { label_keys, labels } = rows[1]?.container ?? {}
  t.equal(label_keys?.length, 3)
  t.strictSame(Object.keys(labels ?? {}), [
    'com.docker.compose.project',
    'org.opencontainers.image.version',
  ])
  t.notMatch(JSON.stringify(rows), /SECRET/)
})

t.test('Podman answers at the same paths', async t => {
  const podman = { Version: '4.9.3', ApiVersion: '1.41', MinAPIVersion: '1.24' }
  const entries = Object.entries(ANSWERS).map(([path, answer]) => [
    path.replace('v1.47', 'v1.41'),
    answer,
  ])
  const { socket } = await openEngine(t, {
    ...Object.fromEntries(entries),
    '/version': { ...podman, Components: [{ Name: 'Podman Engine' }] },
    '/v1.41/volumes': undefined,
  })
  const { rows, warnings } = await scan(socket)
  t.match(rows[0], { engine: { product: 'podman', version: '4.9.3', api_version: '1.41' } })
  t.match(warnings.join(), /volumes answered 404/, 'one list that fails costs no other')
})

t.test('docker-inventory says why it is not possible', async t => {
  const none = join(createFolder(t), 'none.sock')
  await t.rejects(scan(none), { name: 'NotPossibleHere', message: /does not exist/ })
  const denied = Object.assign(new Error('denied'), { code: 'EACCES' })
  t.match(explainFailure('/x', denied), /add the user of the daemon to the group/)
  const { socket } = await openEngine(t, { '/version': { Version: '1', ApiVersion: '1.24' } })
  await t.rejects(scan(socket), { name: 'NotPossibleHere', message: /versions .* 1\.24/ })
})

t.test('sockets are tried in the order of the environment, Docker and Podman', t => {
  t.strictSame(listSockets('/own.sock', { DOCKER_SOCKET: '/d.sock' }), ['/own.sock'])
  t.strictSame(listSockets(undefined, { DOCKER_HOST: 'tcp://10.0.0.1:2375' }), [
    '/var/run/docker.sock',
    '/run/podman/podman.sock',
  ])
  t.equal(listSockets(undefined, { DOCKER_HOST: 'unix:///d.sock' })[0], '/d.sock')
  t.end()
})

t.test('a container is a sighting with its identifier and its published ports', async t => {
  const { socket } = await openEngine(t)
  const { rows } = await scan(socket)
  const sightings = rows.flatMap(row => dockerInventory.observe?.(row, { cellId: 'c' }) ?? [])
  t.equal(sightings.length, 2)
  t.match(sightings[0], {
    keys: [{ kind: 'container_id', value: 'a1b2c3d4e5f6' }],
    facts: { name: 'shop-web-1', services: [{ port: 8080, transport: 'tcp' }] },
  })
})
