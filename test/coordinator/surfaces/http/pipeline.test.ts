import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { CellEngine } from '../../../../coordinator/fleet/routing/router.ts'
import { Budgets } from '../../../../coordinator/kernel/budgets/budgets.ts'
import { openConnections } from '../../../../coordinator/surfaces/http/open-connections.ts'
import { createCoordinatorMetrics } from '../../../../coordinator/surfaces/metrics/coordinator-metrics.ts'
import { appWith, config } from '../../../support/app.ts'
import { type CellHandler, endWithUsage, linkCell, silent } from '../../../support/cell.ts'
import { waitUntil } from '../../../support/wait-until.ts'

/** A listening front with bounded connections and one cell. */
const rig = async (t: Test, cell: CellHandler, http: object = {}) => {
  const settings = config({ limits: { anonymous_per_minute: 1_000_000 }, http })
  const metrics = createCoordinatorMetrics()
  const budgets = new Budgets(settings.limits)
  const { link, close } = await linkCell('a', cell)
  const engine: CellEngine = {
    cellId: 'a',
    link,
    slots: 9,
    inFlight: 0,
    others: 0,
    ready: true,
  }
  const fleet = { pick: () => engine, cells: () => [], serves: () => true, roundTripsMs: () => [] }
  const app = await appWith({ config: settings, metrics, budgets, fleet })
  openConnections({
    config: settings,
    app,
    metrics,
    budgets,
    nowMs: () => 0,
    running: { follow: () => {} },
    schedules: { every: () => {} },
    logger: silent,
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(async () => {
    app.server.closeAllConnections()
    await app.close()
    await close()
  })
  const { port } = app.server.address() as AddressInfo
  const open = (): Socket => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    t.teardown(() => socket.destroy())
    return socket
  }
  return { app, engine, open }
}

const chat = (more: object): string => {
  const body = JSON.stringify({
    model: 'model-a:7b',
    messages: [{ role: 'user', content: 'hi' }],
    ...more,
  })
  return [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: localhost',
    'Authorization: Bearer free-key',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n')
}

const ALIVE = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'

for (const [name, behind] of [
  ['nothing', ''],
  ['a request', ALIVE],
  ['a request with a body', chat({})],
] as const)
  t.test(`the work of a cell ends when its client leaves with ${name} in the pipeline`, async t => {
    const asked = Promise.withResolvers<void>()
    const { open, engine } = await rig(t, () => asked.resolve())
    const client = open()
    client.write(chat({}) + behind)
    await asked.promise
    client.resetAndDestroy()
    await waitUntil('the slot of the cell is free', () => engine.inFlight === 0)
  })

const SOON = { request_timeout_seconds: 1, headers_timeout_seconds: 1 }

/** A client whose stream has begun and goes on until `end`. */
const beginStream = async (t: Test) => {
  const begun = Promise.withResolvers<() => void>()
  const { app, open } = await rig(
    t,
    (request, response) => {
      let body = ''
      request.on('data', piece => {
        body += piece
      })
      request.on('end', () => {
        const isStream = body.includes('"stream":true')
        response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json')
        response.write(isStream ? 'data: {"n":1}\n\n' : '{}')
        if (isStream) begun.resolve(() => endWithUsage(response))
        else endWithUsage(response)
      })
    },
    SOON,
  )
  const client = open()
  const seen = { text: '' }
  client.on('data', piece => {
    seen.text += piece
  })
  client.write(chat({ stream: true }))
  const end = await begun.promise
  await waitUntil('the stream has begun', () => seen.text.includes('data: '))
  return { app, client, seen, end }
}

t.test('the time of a request begins again after the stream before it', async t => {
  const { app, client, seen, end } = await beginStream(t)
  const overdue = once(app.server, 'clientError')
  client.write(chat({ messages: [{ role: 'user', content: 'x'.repeat(900_000) }] }))
  await overdue
  end()
  await waitUntil('both are answered', () => seen.text.match(/HTTP\/1\.1 200/g)?.length === 2)
  t.notMatch(seen.text, / 408 /)
})

t.test('a request that stays incomplete behind a stream is refused after it', async t => {
  const { app, client, seen, end } = await beginStream(t)
  const overdue = once(app.server, 'clientError')
  client.write('GET /healthz HTTP/1.1\r\n')
  await overdue
  end()
  await once(client, 'close')
  t.match(seen.text, /\r\n0\r\n\r\nHTTP\/1\.1 408 /)
})

t.test('bytes that are no request end a stream without an answer within it', async t => {
  const { client, seen } = await beginStream(t)
  client.write('nonsense\r\n\r\n')
  await once(client, 'close')
  t.notMatch(seen.text, /HTTP\/1\.1 4/)
})
