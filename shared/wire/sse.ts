import { errorBody, type ShoalError } from '../errors.ts'

/** Server-sent events as OpenAI's streams have them (WHATWG HTML, server-sent events). */
export const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
} as const

/** An event with a name of its own. */
export const sseEvent = (name: string, value: unknown): string =>
  `event: ${name}\n${sseData(value)}`

export const sseData = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`

/** The last event of a stream that ended well. */
export const SSE_DONE = 'data: [DONE]\n\n'

/** Keeps connections open while nothing is sent; clients ignore it. */
export const SSE_KEEPALIVE = ': keepalive\n\n'
/** How often: proxies close connections on which nothing is said. */
export const SSE_KEEPALIVE_MS = 15_000

/**
 * A failure in the middle of a stream; nothing follows. The event has a name for clients that
 * look at it, and the body under `data.error` for those that do not: OpenAI's client (7.55)
 * makes an APIError with `code` of both.
 */
export const sseError = (error: ShoalError): string => sseEvent('error', errorBody(error))
