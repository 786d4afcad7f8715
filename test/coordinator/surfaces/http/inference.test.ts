import { once } from 'node:events'
import { request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import t, { type Test } from 'tap'
import type { Admission } from '../../../../coordinator/access/quota/quota.ts'
import type { Refusal } from '../../../../coordinator/access/quota/refusals.ts'
import type { AppParts } from '../../../../coordinator/assembly/app.ts'
import type { CellEngine } from '../../../../coordinator/fleet/routing/router.ts'
import { acceptUpgrades } from '../../../../coordinator/surfaces/http/upgrades.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { LINK_PATH } from '../../../../shared/wire/link.ts'
import { appWith } from '../../../support/app.ts'
import { type CellHandler, endWithUsage, linkCell, silent } from '../../../support/cell.ts'

const standing = () => ({ limit: 9, remaining: 9, resetSeconds: 1, burst: 9, minuteLimit: 9 })

const stream = JSON.stringify({
  model: 'model-a:7b',
  stream: true,
  messages: [{ role: 'user', content: 'hi' }],
})

const whole = JSON.stringify({ ...JSON.parse(stream), stream: false })

/** The real front on a real link to a cell, listening. */
const rig = async (t: Test, handler: CellHandler, parts: Partial<AppParts>) => {
  const cell = await linkCell('a', handler)
  const engine: CellEngine = {
    cellId: 'a',
    link: cell.link,
    slots: 1,
    inFlight: 0,
    others: 0,
    ready: true,
  }
  const count = { running: 0 }
  let markIdle: () => void = () => {}
  const isIdle = new Promise<void>(resolve => {
    markIdle = resolve
  })
  const app = await appWith({
    fleet: { pick: () => engine, cells: () => [], serves: () => true, roundTripsMs: () => [] },
    running: {
      add: () => void count.running++,
      remove: () => {
        if (--count.running === 0) markIdle()
      },
      isDraining: () => false,
    },
    ...parts,
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(async () => {
    await app.close()
    await cell.close()
  })
  const { port } = app.server.address() as AddressInfo
  return { app, port, engine, isIdle, count }
}

const post = (port: number, body = stream) => {
  const asked = request({
    port,
    host: '127.0.0.1',
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { authorization: 'Bearer free-key', 'content-type': 'application/json' },
  })
  asked.on('error', () => {})
  asked.end(body)
  return asked
}

t.test('a client that leaves during the quota check leaves no work behind', async t => {
  let resolveAdmission: (admission: Admission) => void = () => {}
  let markAsked: () => void = () => {}
  const wasAsked = new Promise<void>(resolve => {
    markAsked = resolve
  })
  let resolveStatus: (status: string) => void = () => {}
  const status = new Promise<string>(resolve => {
    resolveStatus = resolve
  })
  const reached: string[] = []
  const { app, port, engine, isIdle } = await rig(t, request => void reached.push(request.url), {
    quota: {
      standing,
      admit: () => {
        markAsked()
        return new Promise<Admission>(resolve => {
          resolveAdmission = resolve
        })
      },
    },
    usage: { record: async row => resolveStatus(row.status) },
  })
  const client = post(port)
  const [socket] = (await once(app.server, 'connection')) as [import('node:net').Socket]
  await wasAsked
  const closed = once(socket, 'close')
  client.destroy()
  await closed
  resolveAdmission({ refund: () => {} })
  t.equal(await status, 'cancelled')
  await isIdle
  t.equal(engine.inFlight, 0)
  t.strictSame(reached, [], 'the cell was not asked')
})

t.test('a stream is recorded before its client reads [DONE]', async t => {
  let write: () => void = () => {}
  const written = new Promise<void>(resolve => {
    write = resolve
  })
  let markRecording: () => void = () => {}
  const isRecording = new Promise<void>(resolve => {
    markRecording = resolve
  })
  const cell: CellHandler = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"n":1}\n\n')
    response.write('data: [DONE]\n\n')
    endWithUsage(response)
  }
  const { port } = await rig(t, cell, {
    quota: { standing, admit: () => ({ refund: () => {} }) },
    usage: {
      record: row => {
        t.ok(Number.isInteger(row.ttft_ms), 'with the time to its first event')
        t.equal(row.retries, 0)
        markRecording()
        return written
      },
    },
  })
  const [response] = await once(post(port), 'response')
  let text = ''
  response.on('data', (piece: Buffer) => {
    text += piece
  })
  await isRecording
  t.notMatch(text, /DONE/)
  write()
  await once(response, 'end')
  t.equal(text, 'data: {"n":1}\n\ndata: [DONE]\n\n')
})

t.test('a refusal is counted for its tenant, and names only models of the catalogue', async t => {
  const counted: Refusal[] = []
  const app = await appWith({
    usage: { record: async () => {}, countRefusal: refusal => void counted.push(refusal) },
    quota: {
      standing,
      admit: () => {
        throw new ShoalError('rate_limited', 'slow down', { retryAfterSeconds: 1 })
      },
    },
  })
  t.teardown(() => app.close())
  const ask = (model: string) =>
    app.inject({
      method: 'POST',
      url: '/v1/chat/completions',
      headers: { authorization: 'Bearer pro-key', 'content-type': 'application/json' },
      payload: { model, messages: [{ role: 'user', content: 'x' }] },
    })
  t.equal((await ask('model-a:7b')).statusCode, 429)
  t.equal((await ask('invented')).statusCode, 404)
  const common = { tenantId: 'home', keyId: 'key-pro', isUnavailable: false }
  t.match(counted, [
    { ...common, model: 'model-a:7b' },
    { ...common, model: '' },
  ])
})

t.test('an answer counts as open until its client has all of it', async t => {
  const large = Buffer.alloc(16 * 1024 * 1024, 'x')
  const cell: CellHandler = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write(large)
    endWithUsage(response)
  }
  const { app, port, isIdle, count } = await rig(t, cell, {
    quota: { standing, admit: () => ({ refund: () => {} }) },
  })
  const asked = once(app.server, 'request') as Promise<[unknown, ServerResponse]>
  const client = post(port, whole)
  const [, answer] = await asked
  const [response] = await once(client, 'response')
  while (!answer.writableNeedDrain) await new Promise(setImmediate)
  for (let turn = 0; turn < 9; turn++) await new Promise(setImmediate)
  t.equal(count.running, 1, 'a shutdown waits for it')
  let bytes = 0
  for await (const piece of response) bytes += piece.length
  t.equal(bytes, large.length)
  await isIdle
})

t.test('a clock set back during a request yields no invalid row', async t => {
  let time = 1_800_000_000_000
  const durations: number[] = []
  const cell: CellHandler = (_request, response) => {
    time -= 60_000
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: [DONE]\n\n')
    endWithUsage(response)
  }
  const { port } = await rig(t, cell, {
    now: () => time,
    quota: { standing, admit: () => ({ refund: () => {} }) },
    usage: { record: async row => void durations.push(row.duration_ms) },
  })
  const [response] = await once(post(port), 'response')
  response.resume()
  await once(response, 'end')
  t.strictSame(durations, [0])
})

t.test('a client that leaves while waiting for room gets its request refunded', async t => {
  let refunds = 0
  let leave: () => void = () => {}
  let waits: () => void = () => {}
  const isWaiting = new Promise<void>(resolve => {
    waits = resolve
  })
  const { port, isIdle } = await rig(t, () => {}, {
    quota: { standing, admit: () => ({ refund: () => void refunds++ }) },
    usage: {
      record: async () => {
        t.fail('no cell had it: there is nothing to record')
      },
    },
    lanes: ({ keyId, tenantId, affinity }) => {
      t.strictSame([keyId, tenantId, affinity], ['key-free', 'home', undefined])
      return {
        pick: () => undefined,
        reportStart: () => {},
        reportEnd: () => {},
        reportFailures: () => {},
        wait: () => {
          const turn = new Promise<undefined>(resolve => {
            leave = () => resolve(undefined)
          })
          waits()
          return { turn, leave: () => leave() }
        },
      }
    },
  })
  const client = post(port)
  await isWaiting
  client.destroy()
  await isIdle
  t.equal(refunds, 1)
})

t.test('a refused upgrade is closed even when its client keeps its side open', async t => {
  const app = await appWith()
  acceptUpgrades(app.server, {
    replicaId: 'rep_test',
    logger: silent,
    authenticate: () => false,
    isLeaving: () => false,
    answerHeaders: () => app.answerHeaders({ id: 'req_x', address: '127.0.0.1', key: undefined }),
    openMqtt: () => {},
    openLink: () => {},
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  t.teardown(() => socket.destroy())
  let answer = ''
  socket.on('data', piece => {
    answer += piece
  })
  socket.write(
    `GET ${LINK_PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: shoal-link/1\r\n\r\n`,
  )
  await once(socket, 'end')
  t.match(answer, /^HTTP\/1\.1 401 .*x-ratelimit-limit: 1000/s)
  await app.close()
  t.pass('the server could close')
})
