import type { ClientRequest, IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'

/** Time for a connection and its TLS handshake, as `fetch` has it. */
const CONNECT_MS = 10_000
/** Longest silence of a server, before and within an answer. */
const SILENCE_MS = 300_000

const NOT_MODIFIED = 304

export interface HttpRequest {
  method?: string
  headers?: Record<string, string>
  body?: string | Blob
  signal?: AbortSignal
  /** Longest wait for the connection and its TLS handshake, in milliseconds; 10 s by default. */
  connectMs?: number
}

/** The part of an answer that is read. Redirections are answers like any other. */
export interface HttpReply {
  url: string
  status: number
  ok: boolean
  headers: { get: (name: string) => string | null; has: (name: string) => boolean }
  body: AsyncIterable<Uint8Array>
  text: () => Promise<string>
  json: () => Promise<unknown>
}

/**
 * Sends one request. `fetch` would do the same and takes a tenth of a second of CPU time to load,
 * more than everything else of a command.
 */
export const sendRequest = async (target: URL, request: HttpRequest): Promise<HttpReply> => {
  const answer = await openAnswer(target, request)
  const { statusCode: status = 0, headers } = answer
  // an answer that nobody reads would keep its connection, and with it this process
  if (status === NOT_MODIFIED) answer.resume()
  const get = (name: string): string | null => headers[name]?.toString() ?? null
  return {
    url: target.href,
    status,
    ok: status >= 200 && status < 300,
    headers: { get, has: name => get(name) !== null },
    body: answer,
    text: () => text(answer),
    json: async () => JSON.parse(await text(answer)),
  }
}

const openAnswer = async (
  target: URL,
  { method = 'GET', headers = {}, body, signal, connectMs = CONNECT_MS }: HttpRequest,
): Promise<IncomingMessage> => {
  const { request } = await (target.protocol === 'https:'
    ? import('node:https')
    : import('node:http'))
  return new Promise((done, fail) => {
    const options = { method, headers: { ...headers, ...typeOf(body) } }
    const sent = request(target, signal === undefined ? options : { ...options, signal }, done)
    sent.on('error', fail)
    limitTimes(sent, target.protocol === 'https:' ? 'secureConnect' : 'connect', connectMs)
    if (body instanceof Blob) Readable.fromWeb(body.stream()).on('error', fail).pipe(sent)
    else sent.end(body)
  })
}

/** A file brings its type and length. */
const typeOf = (body: HttpRequest['body']): Record<string, string> =>
  body instanceof Blob
    ? {
        'content-length': String(body.size),
        ...(body.type === '' ? {} : { 'content-type': body.type }),
      }
    : {}

/** A server that accepts connections may still never answer a TLS handshake. */
const limitTimes = (
  sent: ClientRequest,
  connected: 'connect' | 'secureConnect',
  connectMs: number,
): void => {
  const give = (code: string) => () => sent.destroy(Object.assign(new Error('timeout'), { code }))
  sent.setTimeout(SILENCE_MS, give('UND_ERR_HEADERS_TIMEOUT'))
  const timer = setTimeout(give('UND_ERR_CONNECT_TIMEOUT'), connectMs)
  const stop = (): void => clearTimeout(timer)
  sent.once('close', stop).once('response', stop)
  sent.once('socket', socket => {
    if (sent.reusedSocket) stop()
    else socket.once(connected, stop)
  })
}
