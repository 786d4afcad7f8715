import type { IncomingHttpHeaders } from 'node:http'
import type { Readable, Writable } from 'node:stream'
import { decodeBody } from '../../../shared/decode-body.ts'
import { errorBody, httpStatus, ShoalError } from '../../../shared/errors.ts'
import { JSON_TYPE } from '../../../shared/json-type.ts'
import { formatIgnoredHeader, HEADER_IGNORED } from '../../../shared/wire/ignored.ts'
import { TRAILER_USAGE } from '../../../shared/wire/link.ts'
import type { Usage } from '../../../shared/wire/openai.ts'
import { type RequestRules, readRequest } from '../../../shared/wire/read-request.ts'

/** A request of node:http or node:http2. */
export type HttpRequest = Readable & {
  method?: string | undefined
  url?: string | undefined
  headers: IncomingHttpHeaders
}

/** An answer of node:http or node:http2. */
export type HttpResponse = Writable & {
  statusCode: number
  readonly headersSent: boolean
  setHeader(name: string, value: string | number): unknown
  addTrailers(trailers: Record<string, string>): void
}

const MAX_BODY_BYTES = 8 * 1024 * 1024

/**
 * The body as JSON.
 *
 * @throws ShoalError unsupported_media_type, payload_too_large or invalid_request
 */
export const readJson = async (
  request: HttpRequest,
  maxBytes = MAX_BODY_BYTES,
): Promise<unknown> => {
  if (!JSON_TYPE.test(request.headers['content-type'] ?? ''))
    throw new ShoalError('unsupported_media_type', 'content-type must be application/json in UTF-8')
  const body = await readBody(request, maxBytes)
  try {
    return JSON.parse(body.toString('utf8'))
  } catch (cause) {
    throw new ShoalError('invalid_request', 'the body is not valid JSON', { cause })
  }
}

/**
 * The body of an inference request. The answer will name the fields that were ignored.
 *
 * @throws ShoalError as `readJson` does, and unsupported_parameter
 */
export const readBodyOf = async <T>(
  rules: RequestRules<T>,
  request: HttpRequest,
  response: HttpResponse,
): Promise<T> => {
  const read = readRequest(rules, await readJson(request))
  const names = formatIgnoredHeader(read.ignored)
  if (names !== undefined) response.setHeader(HEADER_IGNORED, names)
  return read.request
}

const readBody = async (request: HttpRequest, maxBytes: number): Promise<Buffer> => {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw createTooLargeError(maxBytes)
  const chunks: Buffer[] = []
  let length = 0
  // a request that is destroyed takes its connection along, and the answer with it
  const body = decodeBody(request.headers, request, maxBytes)
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    length += chunk.length
    if (length > maxBytes) throw createTooLargeError(maxBytes)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const createTooLargeError = (maxBytes: number): ShoalError =>
  new ShoalError('payload_too_large', `the body is larger than ${maxBytes} bytes`)

export const sendJson = (response: HttpResponse, value: unknown): void => {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(value))
}

/** Runs on abort, also when the signal is aborted already. */
export const runOnAbort = (signal: AbortSignal, run: () => void): void => {
  if (signal.aborted) run()
  else signal.addEventListener('abort', run, { once: true })
}

/** HTTP/1.1 sends only the trailers that were announced. */
export const announceUsage = (response: HttpResponse): void => {
  response.setHeader('trailer', TRAILER_USAGE)
}

/** Ends an answer that is complete. */
export const endWithUsage = (response: HttpResponse, usage: Usage): void => {
  response.addTrailers({ [TRAILER_USAGE]: JSON.stringify(usage) })
  response.end()
}

export const sendError = (response: HttpResponse, error: ShoalError): void => {
  response.statusCode = httpStatus(error.code)
  if (error.retryAfterSeconds !== undefined) {
    response.setHeader('retry-after', String(error.retryAfterSeconds))
  }
  sendJson(response, errorBody(error))
}
