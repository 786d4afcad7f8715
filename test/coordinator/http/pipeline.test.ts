import type { AddressInfo } from 'node:net'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { Budgets } from '../../../coordinator/budgets/budgets.ts'
import type { CellEngine } from '../../../coordinator/fleet/router.ts'
import { openConnections } from '../../../coordinator/http/open-connections.ts'
import { createFigures } from '../../../coordinator/metrics/figures.ts'
import { appWith, config } from '../../support/app.ts'
import { type CellHandler, linkCell, silent } from '../../support/cell.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** A listening front with bounded connections and one cell. */
const rig = async (t: Test, cell: CellHandler, http: object = {}) => {
  const settings = config({ limits: { anonymous_per_minute: 1_000_000 }, http })
  const figures = createFigures()
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
  const app = await appWith({ config: settings, figures, budgets, fleet })
  openConnections({
    config: settings,
    app,
    figures,
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
