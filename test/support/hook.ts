import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { AnyJson } from './a2a.ts'

/** A receiver of events on loopback. */
export const startHook = async (t: Pick<Test, 'teardown'>) => {
  const got: { headers: IncomingHttpHeaders; body: AnyJson; text: string }[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    got.push({ headers: request.headers, body: JSON.parse(text), text })
    response.writeHead(204).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => new Promise(done => server.close(done)))
  const { port } = server.address() as AddressInfo
  /** Settings with which the coordinator sends to it. */
  const outbound = { allow: [`127.0.0.1:${port}`], allow_http: true }
  return { url: `http://127.0.0.1:${port}/events`, port, outbound, got }
}
