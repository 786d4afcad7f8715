import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import type { Test } from 'tap'
import type { AppParts } from '../../coordinator/assembly/app.ts'
import type { CellEngine } from '../../coordinator/fleet/routing/engine.ts'
import { appWith } from './app.ts'
import { type CellHandler, linkCell } from './cell.ts'

/** The real front on a real link to a cell, with the requests that the cell got. */
export const rig = async (t: Test, handler: CellHandler, parts: Partial<AppParts> = {}) => {
  const seen: { path: string; body: Record<string, unknown> }[] = []
  const cell = await linkCell('a', async (request, response) => {
    seen.push({ path: request.url, body: JSON.parse(await readText(request)) })
    handler(request, response)
  })
  const counts = { inFlight: 0, others: 0 }
  const engine: CellEngine = { cellId: 'a', link: cell.link, slots: 1, ready: true, ...counts }
  const fleet: AppParts['fleet'] = {
    pick: () => engine,
    cells: () => [],
    serves: () => true,
    roundTripsMs: () => [],
  }
  const app = await appWith({ fleet, ...parts })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(async () => {
    await app.close()
    await cell.close()
  })
  const { port } = app.server.address() as AddressInfo
  const post = (path: string, body: object, more: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { authorization: 'Bearer pro-key', 'content-type': 'application/json', ...more },
      body: JSON.stringify(body),
    })
  return { app, post, seen, engine }
}
