import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'

const FIXTURES = join(import.meta.dirname, '../fixtures/upstreams')

/** Request as a source received it. */
export interface SourceRequest {
  source: string
  method: string
  /** Path and query below the address of the source. */
  path: string
  headers: IncomingHttpHeaders
  body: string
}

interface Reply {
  /** Name of a file in the folder of the source: `good.json`. */
  file?: string
  body?: string | Buffer
  status?: number
  headers?: Record<string, string>
}

/** Ways to fail that every source has. */
type Trouble = 'html' | 'limited' | 'truncated' | 'slow' | 'down'

/** A reply, one of the troubles, the name of a file, or what decides by the request. */
export type SourceAnswer =
  | Trouble
  | `${string}.${string}`
  | Reply
  | ((request: SourceRequest) => Exclude<SourceAnswer, (request: SourceRequest) => unknown>)

export interface UpstreamServer {
  /** Addresses of the sources, for `upstreams.sources.<id>.url`. */
  urlOf(source: string): string
  requests: SourceRequest[]
  close(): Promise<void>
}

const TYPES: Record<string, string> = {
  json: 'application/json',
  xml: 'application/xml',
  yml: 'text/plain; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
}

/**
 * Serves invented answers of outside sources in their true shape, each source below a folder of its
 * own name. A source without an answer is a server error.
 */
export const openUpstreamServer = async (
  t: Pick<Test, 'teardown'>,
  answers: Record<string, SourceAnswer>,
): Promise<UpstreamServer> => {
  const requests: SourceRequest[] = []
  const server = createServer(async (message, response) => {
    const { url = '', method = '', headers } = message
    const [, source = '', path = ''] = /^\/([^/?]+)(.*)$/.exec(url) ?? []
    const body = await readText(message)
    const request = { source, method, path, headers, body }
    requests.push(request)
    const answer = answers[source]
    send(source, typeof answer === 'function' ? answer(request) : (answer ?? 'down'), response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
  t.teardown(close)
  return { urlOf: source => `http://127.0.0.1:${port}/${source}`, requests, close }
}

const readText = async (message: AsyncIterable<Buffer>): Promise<string> => {
  const pieces: Buffer[] = []
  for await (const piece of message) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

const PAGE = '<!DOCTYPE html><html><head><title>Busy</title></head><body>Try later.</body></html>'

const send = (
  source: string,
  answer: Exclude<SourceAnswer, (request: SourceRequest) => unknown>,
  response: ServerResponse,
): void => {
  if (answer === 'slow') return
  if (typeof answer === 'object') sendReply(source, answer, response)
  else if (answer === 'html') response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE)
  else if (answer === 'down') response.writeHead(503, { 'content-type': 'text/html' }).end(PAGE)
  else if (answer === 'limited') response.writeHead(429, { 'retry-after': '3600' }).end()
  else if (answer === 'truncated') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 5000 })
    response.write('{"type":"Feat', () => response.destroy())
  } else sendReply(source, { file: answer }, response)
}

const sendReply = (
  source: string,
  {
    file,
    body = file === undefined ? '' : readFixture(source, file),
    status = 200,
    headers,
  }: Reply,
  response: ServerResponse,
): void => {
  const [, ending = 'json'] = /\.(\w+)$/.exec(file ?? '') ?? []
  response
    .writeHead(status, { 'content-type': TYPES[ending] ?? 'text/plain', ...headers })
    .end(body)
}

const readFixture = (source: string, file: string): Buffer =>
  readFileSync(join(FIXTURES, source, file))
