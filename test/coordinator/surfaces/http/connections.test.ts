import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import t, { type Test } from 'tap'
import { Budgets } from '../../../../coordinator/kernel/budgets/budgets.ts'
import {
  issueAuthority,
  issueServerCertificate,
} from '../../../../coordinator/kernel/tls/certificate.ts'
import { openConnections } from '../../../../coordinator/surfaces/http/open-connections.ts'
import { putInFront } from '../../../../coordinator/surfaces/http/put-in-front.ts'
import { acceptUpgrades } from '../../../../coordinator/surfaces/http/upgrades.ts'
import { createCoordinatorMetrics } from '../../../../coordinator/surfaces/metrics/coordinator-metrics.ts'
import {
  ENROL_PATH,
  HEADER_BOOT_ID,
  LINK_PATH,
  LINK_PROTOCOL,
} from '../../../../shared/wire/link.ts'
import { appWith, config, rawRequest } from '../../../support/app.ts'
import { silent } from '../../../support/cell.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const MAX_WAITING = 16

const DOCUMENT = 'GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'
const ALIVE = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'

const FEW = { connections: 16, connections_per_address: 8 }

interface Rig {
  limits?: object
  http?: object
  shown?: { cert: string; key: string }
}

/** A listening front with bounded connections, whose sweeps and clock the test moves. */
const rig = async (t: Test, { limits = {}, http = {}, shown }: Rig = {}) => {
  const settings = config({ http, limits: { anonymous_per_minute: 1_000_000, ...limits } })
  const metrics = createCoordinatorMetrics()
  const budgets = new Budgets(settings.limits)
  const warnings: { reason?: string }[] = []
  const clock = { nowMs: 0 }
  const app = await appWith({ config: settings, metrics, budgets, ...(shown && { shown }) })
  const starts: (string | undefined)[] = []
  putInFront(app.server, behind => (request, response) => {
    starts.push(request.url)
    behind(request, response)
  })
  const { connections } = openConnections({
    config: settings,
    app,
    metrics,
    budgets,
    nowMs: () => clock.nowMs,
    running: { follow: () => {} },
    schedules: { every: () => {} },
    logger: { ...silent, warn: (about: object) => warnings.push(about) } as never,
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const address = app.server.address() as AddressInfo
  const open = (): Socket => {
    const socket = connect(address.port, '127.0.0.1').on('error', () => {})
    t.teardown(() => socket.destroy())
    return socket
  }
  const closed = (): Record<string, number> => {
    const metric = metrics.http.list.find(
      ({ name }) => name === 'shoal_http_connections_closed_total',
    )
    return Object.fromEntries(metric?.read().map(each => [each.labels.reason, each.value]) ?? [])
  }
  return { app, address, budgets, clock, closed, connections, open, starts, warnings }
}

const issueIdentity = async () => {
  const validity = { from: 0, to: Date.UTC(2100, 0, 1) }
  const authority = await issueAuthority('test', validity)
  const { certificate, key } = await issueServerCertificate(authority, ['localhost'], validity)
  return {
    cert: certificate.toString(),
    key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

const statusOf = async (port: number, path: string): Promise<number | undefined> => {
  const asked = get({ port, host: '127.0.0.1', path, agent: false })
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  answer.resume()
  return answer.statusCode
}

t.test('requests in a pipeline are answered one at a time and in order', async t => {
  const { address, starts, closed } = await rig(t)
  const paths = Array.from({ length: MAX_WAITING }, (_, n) => `/v1/none-${n}`)
  const requests = paths.map(path => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  const answer = await rawRequest(address, requests.join('') + ALIVE)
  t.strictSame(
    [...answer.matchAll(/no route at ([\w/-]+)/g)].map(([, path]) => path),
    paths,
  )
  t.match(answer, /\{"status":"ok"\}$/)
  t.strictSame(starts, [...paths, '/healthz'])
  t.strictSame(closed(), {})
})

for (const kind of ['plain', 'encrypted'])
  t.test(`a thousand requests in a pipeline cut a ${kind} connection`, async t => {
    const shown = kind === 'plain' ? undefined : await issueIdentity()
    const { address, starts, closed, warnings, budgets } = await rig(t, { ...(shown && { shown }) })
    const { port } = address
    const sockets = Array.from({ length: 10 }, () =>
      shown === undefined
        ? connect(port, '127.0.0.1')
        : connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }),
    )
    for (const socket of sockets) socket.on('error', () => {}).write(DOCUMENT.repeat(1000))
    await Promise.all(sockets.map(socket => once(socket, 'close')))
    t.ok(starts.length <= sockets.length, `${starts.length} of 10,000 were handled`)
    t.strictSame(closed(), { pipelined: 10 })
    t.equal(warnings.length, 1, 'the log is throttled')
    await waitUntil('every share is back', () => budgets.connections.used === 0)
  })

t.test('a request with a body is read while others wait behind it', async t => {
  const { open } = await rig(t)
  const socket = open()
  const body = '{"token":"wrong"}'
  socket.write(
    `POST ${ENROL_PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  )
  socket.write(body.slice(0, 10))
  await new Promise(setImmediate)
  socket.write(body.slice(10) + DOCUMENT.replace('/v1/openapi.json', '/v1/none') + ALIVE)
  let answer = ''
  socket.on('data', piece => {
    answer += piece
  })
  await once(socket, 'close')
  t.equal(answer.match(/HTTP\/1\.1 \d+/g)?.length, 3)
})

t.test('a request has one answer, also when its body turns out to be broken', async t => {
  const { address } = await rig(t)
  const chunked = 'Host: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'
  const answer = await rawRequest(address, `POST /v1/nothing HTTP/1.1\r\n${chunked}`)
  t.match(answer, /^HTTP\/1.1 40[04] /)
  t.equal(answer.match(/HTTP\/1\.1 /g)?.length, 1)
})

t.test('a client that takes nothing of its answers is let go, others are not', async t => {
  const { open, clock, closed, connections, app } = await rig(t)
  app.server.prependListener('connection', (socket: Socket) => {
    socket.setNoDelay(true)
  })
  const slow = open()
  slow.pause()
  slow.write(DOCUMENT.repeat(MAX_WAITING + 1))
  const idle = open()
  const [isGone] = [once(slow, 'close')]
  await waitUntil('the unread answers stop it', () => {
    clock.nowMs += 10_000
    connections.sweep()
    return closed().slow_reader === 1
  })
  slow.resume()
  await isGone
  clock.nowMs += 3_600_000
  connections.sweep()
  t.notOk(idle.destroyed)
  idle.write(ALIVE)
  t.match(String((await once(idle, 'data'))[0]), /^HTTP\/1\.1 200/)
  t.strictSame(closed(), { slow_reader: 1 })
})

t.test('a quiet stream whose client reads is no slow reader', async t => {
  const { app, open, clock, closed, connections } = await rig(t)
  const socket = open()
  const [[accepted]] = await Promise.all([once(app.server, 'connection'), once(socket, 'connect')])
  // a request whose answer is not there yet: nothing waits for the client
  socket.write(
    `POST ${ENROL_PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`,
  )
  socket.write('Content-Length: 5\r\n\r\n')
  await once(app.server, 'request')
  connections.sweep()
  clock.nowMs += 3_600_000
  connections.sweep()
  t.notOk((accepted as Socket).destroyed)
  t.strictSame(closed(), {})
})

t.test('client connections leave descriptors for cells and files, at any limit of them', t => {
  const { limits } = config()
  t.strictSame(new Budgets(limits, 200).connections.limits, { total: 100, per: { address: 75 } })
  t.strictSame(new Budgets(limits, 65_536).connections.limits, {
    total: 8192,
    per: { address: 1024 },
  })
  t.end()
})

t.test('the longest idle connection without a key makes way at a bound', async t => {
  const { address, app, open, closed, clock, warnings } = await rig(t, { limits: FEW })
  const known = open()
  known.write(
    'GET /v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer free-key\r\n\r\n',
  )
  await once(known, 'data')
  const gone: number[] = []
  for (let n = 0; n < 12; n++) {
    const accepted = once(app.server, 'connection')
    open().once('close', () => gone.push(n))
    await accepted
    clock.nowMs += 6_000
  }
  t.equal(await statusOf(address.port, '/healthz'), 200)
  t.notOk(known.destroyed)
  await waitUntil('the oldest are closed', () => gone.length === 6)
  t.strictSame(gone, [0, 1, 2, 3, 4, 5])
  t.strictSame(closed(), { made_way: 6 })
  t.match(warnings, [{ reason: 'made_way', address: '127.0.0.1' }])
})

t.test('when every connection is in use, a reserve serves health and keys', async t => {
  const { address, app, open, closed } = await rig(t, { limits: FEW })
  const busy = `POST ${ENROL_PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`
  for (let n = 0; n < 8; n++) {
    const asked = once(app.server, 'request')
    open().write(`${busy}Content-Length: 5\r\n\r\n`)
    await asked
  }
  for (let n = 0; n < 20; n++) {
    const accepted = once(app.server, 'connection')
    open()
    await accepted
  }
  t.equal(await statusOf(address.port, '/healthz'), 200)
  const refused = await rawRequest(address, DOCUMENT.replace('Host', 'Connection: close\r\nHost'))
  t.match(refused, /^HTTP\/1\.1 429 /)
  t.match(refused, /retry-after: \d+\r\n/i)
  t.match(refused, /x-ratelimit-limit: /i)
  const key = 'Authorization: Bearer free-key\r\n'
  const models = await rawRequest(
    address,
    `GET /v1/models HTTP/1.1\r\nHost: localhost\r\n${key}\r\n`,
  )
  t.match(models, /^HTTP\/1\.1 200 /)
  t.notOk(closed().over_limit, 'an idle one of the reserve makes way')
})

t.test('an address at its own bound leaves most of the reserve to others', async t => {
  const { app, budgets, open } = await rig(t, { limits: FEW })
  const busy = `POST ${ENROL_PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n`
  for (let n = 0; n < 12; n++) {
    const asked = once(app.server, 'request')
    open().write(`${busy}Content-Type: application/json\r\nContent-Length: 5\r\n\r\n`)
    await asked
  }
  t.equal(budgets.reserveConnections.used, 4)
  const refused = open()
  await once(refused, 'close')
  t.equal(budgets.reserveConnections.used, 4)
})

t.test('a socket that a cell has upgraded is no client connection', async t => {
  const { app, open, budgets } = await rig(t)
  const opened = Promise.withResolvers<void>()
  acceptUpgrades(app.server, {
    isLeaving: () => false,
    logger: silent,
    replicaId: 'rep_a',
    authenticate: () => true,
    openMqtt: () => {},
    openLink: () => opened.resolve(),
  })
  open().write(
    [
      `GET ${LINK_PATH} HTTP/1.1`,
      'Host: localhost',
      `Authorization: Basic ${Buffer.from('cell_a:secret').toString('base64')}`,
      `${HEADER_BOOT_ID}: boot-1`,
      'Connection: Upgrade',
      `Upgrade: ${LINK_PROTOCOL}`,
      '\r\n',
    ].join('\r\n'),
  )
  await opened.promise
  t.equal(budgets.connections.used, 0)
})

t.test('a request whose body does not come gets 408 with the setting that it met', async t => {
  const http = { headers_timeout_seconds: 0.2, request_timeout_seconds: 0.4 }
  const { open } = await rig(t, { http })
  const socket = open()
  socket.write(
    'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer free-key\r\n' +
      'Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
  )
  const [answer] = await once(socket, 'data')
  t.match(
    String(answer),
    /^HTTP\/1.1 408 [\s\S]*was not complete within 0.4 s \(http.request_timeout_seconds\)/,
  )
})
