import { errorBody, type ShoalError } from '../errors.ts'

/** Server-sent events in the form of OpenAI's streams (WHATWG HTML, server-sent events). */
export const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
} as const

/** Formats an event with its own name. */
export const sseEvent = (name: string, value: unknown): string =>
  `event: ${name}\n${sseData(value)}`

export const sseData = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`

/** Last event of a stream that completed. */
export const SSE_DONE = 'data: [DONE]\n\n'

/** Comment that keeps an idle connection open; clients ignore it. */
export const SSE_KEEPALIVE = ': keepalive\n\n'
/** Interval of keepalives: proxies close idle connections. */
export const SSE_KEEPALIVE_MS = 15_000

/**
 * Formats a failure in the middle of a stream; nothing follows it. The event has a name for clients
 * that look at it, and the body under `data.error` for those that do not: OpenAI's client (7.55)
 * makes an APIError with `code` from both.
 */
export const sseError = (error: ShoalError): string => sseEvent('error', errorBody(error))
