import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { createServer as createTlsServer, request as requestTls } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { CellLink } from '../../../../coordinator/fleet/cells/cell-link.ts'
import { openLink } from '../../../../coordinator/gateway/link/link.ts'
import {
  issueAuthority,
  issueServerCertificate,
} from '../../../../coordinator/kernel/tls/certificate.ts'
import { acceptUpgrades } from '../../../../coordinator/surfaces/http/upgrades.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { LINK_PATH, LINK_PROTOCOL } from '../../../../shared/wire/link.ts'
import { silent } from '../../../support/cell.ts'
import { collectAnswer } from '../../../support/link-requests.ts'

const life = { from: Date.now() - 60_000, to: Date.now() + 60_000 }
const { certificate, key } = await issueServerCertificate(
  await issueAuthority('test', life),
  ['127.0.0.1'],
  life,
)
const pem = key.export({ type: 'pkcs8', format: 'pem' })
const tls = { cert: certificate.toString(), key: pem }

const testOverUpgrade = async (t: Test, secure: boolean): Promise<void> => {
  const server = secure ? createTlsServer(tls) : createServer()
  server.listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  let onUp: (link: CellLink) => void = () => {}
  let onDown: () => void = () => {}
  const isUp = new Promise<CellLink>(resolve => {
    onUp = resolve
  })
  const isDown = new Promise<void>(resolve => {
    onDown = resolve
  })
  acceptUpgrades(server, {
    replicaId: 'rep_test',
    logger: silent,
    authenticate: () => true,
    isLeaving: () => false,
    openMqtt: socket => socket.destroy(),
    openLink: (socket, cellId) =>
      openLink({
        runtime: systemRuntime,
        cellId,
        socket,
        logger: silent,
        pingEveryMs: 60_000,
        onUp,
        onDown: () => onDown(),
      }),
  })
  const { port } = server.address() as AddressInfo
  const authorization = `Basic ${Buffer.from('a:b').toString('base64')}`
  const headers = { connection: 'Upgrade', upgrade: LINK_PROTOCOL, authorization }
  const where = { port, host: '127.0.0.1', path: LINK_PATH, headers, agent: false as const }
  const asked = secure ? requestTls({ ...where, rejectUnauthorized: false }) : request(where)
  asked.end()
  const [, socket, head] = (await once(asked, 'upgrade')) as [IncomingMessage, Socket, Buffer]
  const cell = createHttp2Server((request, response) => {
    if (request.url === '/echo') request.pipe(response)
    else request.resume().once('end', () => response.end(`hello ${request.url}`))
  })
  if (head.length > 0) socket.unshift(head)
  if (secure) Object.assign(socket, { alpnProtocol: 'h2' })
  cell.emit('connection', socket)
  const link = await isUp

  t.test('carries requests from the coordinator to the cell', async t => {
    const { text } = await collectAnswer(link, {
      method: 'POST',
      path: '/x',
      body: Buffer.from('{}'),
    })
    t.equal(text, 'hello /x')
  })

  t.test('carries bodies that are larger than every window', async t => {
    const body = randomBytes(5_000_000)
    const { bytes, isWhole } = await collectAnswer(link, { method: 'POST', path: '/echo', body })
    t.ok(isWhole && bytes.equals(body))
  })

  t.test('is down as soon as the cell closes its end, before a ping could fail', async t => {
    const answer = collectAnswer(link, { method: 'GET', path: '/y' })
    socket.destroy()
    await isDown
    t.match(await answer, { isWhole: false })
    await t.rejects(collectAnswer(link, { method: 'GET', path: '/' }), { code: 'cell_unavailable' })
  })
}

for (const [title, secure] of [
  ['a link over a real upgrade', false],
  // the session takes over a TLS socket in the middle of a write, which once ended the process
  ['a link over a real upgrade with TLS', true],
] as const)
  t.test(title, t => testOverUpgrade(t, secure))
