import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'

interface SeenRequest {
  method: string | undefined
  url: string | undefined
  headers: IncomingMessage['headers']
  body: string
}

/** A server that gives one prepared answer after the other, and what it was asked. */
export const startAnswerServer = async (
  t: Test,
  ...answers: ((response: ServerResponse) => void)[]
): Promise<{ url: string; seen: SeenRequest[] }> => {
  const seen: SeenRequest[] = []
  const server = createServer(async (request, response) => {
    const { method, url, headers } = request
    seen.push({ method, url, headers, body: await text(request) })
    const answer = answers[Math.min(seen.length, answers.length) - 1]
    answer?.(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(body))
  }

export const createErrorBody = (code: string, message = code) => ({
  error: { code, message, type: 'x', param: null },
})

/** Events, each piece as a write of its own; without an end the connection is cut. */
export const events =
  (pieces: string[], end = true) =>
  (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const piece of pieces) response.write(piece)
    if (end) response.end()
    else setImmediate(() => response.destroy())
  }
