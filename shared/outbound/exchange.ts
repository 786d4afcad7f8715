import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { VERSION } from '../version.ts'
import { type AnswerHeaders, AnswerReader, createTooLargeError } from './answer-reader.ts'
import { type ConnectionTarget, type KeptConnections, openConnection } from './connections.ts'
import { openPhases, type Phases } from './phases.ts'
import type { Address } from './resolve.ts'

/** One request of HTTP, with every phase and size bounded. */
interface ExchangeRequest extends Omit<ConnectionTarget, 'addresses'> {
  method: 'GET' | 'POST' | 'PUT'
  headers: Readonly<Record<string, string>>
  body?: string | undefined
  /** Gives the addresses that may be connected to; throws SendError for a target that may not. */
  findAddresses(): Promise<readonly Address[]>
  /** Longest time to find the addresses, and again to connect with TLS. */
  connectSeconds: number
  /** Longest time until the target begins to answer, and again until its answer ended. */
  answerSeconds: number
  /** Longest time of the whole request; unbounded by default, because each phase is bounded. */
  totalSeconds?: number
  /** Most bytes of the answer to read, also once it is decoded; more is an error. 0 reads none. */
  maxAnswerBytes: number
  /** True to accept a compressed answer, which is then decoded. */
  acceptsGzip?: boolean
  /** Connections to use and leave open; by default the request has one of its own. */
  connections?: KeptConnections
}

export interface ExchangeAnswer {
  status: number
  headers: AnswerHeaders
  body: Buffer
}

/**
 * Makes one request to nothing but the given addresses, and follows no redirect. Throws SendError, or
 * the error of the socket.
 */
export const exchange = async (
  request: ExchangeRequest,
  signal: AbortSignal,
): Promise<ExchangeAnswer> => {
  const phase = openPhases(signal, request.totalSeconds)
  try {
    phase.begin(request.connectSeconds)
    const addresses =
      request.socketPath === undefined ? await phase.waitFor(request.findAddresses()) : []
    phase.begin(request.connectSeconds)
    const reader = send(request, addresses, phase)
    const { status, headers } = await phase.waitFor(reader.started)
    phase.begin(request.answerSeconds)
    return { status, headers, body: await readBody(reader, headers, request, phase) }
  } finally {
    phase.end()
  }
}

/** Longest body that is read only for its connection to be used again, and the time for it. */
const MAX_DRAIN_BYTES = 16 * 1024
const DRAIN_SECONDS = 1

const send = (
  request: ExchangeRequest,
  addresses: readonly Address[],
  phase: Phases,
): AnswerReader => {
  const { url, method, body, connections, maxAnswerBytes, answerSeconds } = request
  const target = { ...request, addresses }
  const { dispatcher, close } =
    connections === undefined
      ? openConnection(target)
      : { dispatcher: connections.take(target), close: () => {} }
  const reader = new AnswerReader({
    maxBytes: maxAnswerBytes || MAX_DRAIN_BYTES,
    onConnected: () => phase.begin(answerSeconds),
  })
  phase.onEnd(error => {
    reader.abort(error)
    close(error)
  })
  dispatcher.dispatch(
    {
      method,
      path: `${url.pathname}${url.search}`,
      headers: headersOf(request),
      ...(body === undefined ? {} : { body }),
    },
    reader,
  )
  return reader
}

const headersOf = ({ headers, acceptsGzip }: ExchangeRequest): Record<string, string> => ({
  'user-agent': `shoal/${VERSION}`,
  accept: '*/*',
  ...(acceptsGzip ? { 'accept-encoding': 'gzip' } : {}),
  ...headers,
})

const readBody = async (
  reader: AnswerReader,
  headers: AnswerHeaders,
  { maxAnswerBytes, acceptsGzip, connections }: ExchangeRequest,
  phase: Phases,
): Promise<Buffer> => {
  if (maxAnswerBytes === 0) {
    if (connections !== undefined) await drain(reader, phase)
    return Buffer.alloc(0)
  }
  const body = await phase.waitFor(reader.body)
  const isCoded = acceptsGzip && /^(x-)?gzip$/i.test(headers['content-encoding'] ?? '')
  return isCoded ? phase.waitFor(decode(body, maxAnswerBytes)) : body
}

/** Waits for the end of a short body; the end of the phases closes the connection of another one. */
const drain = async (reader: AnswerReader, phase: Phases): Promise<void> => {
  phase.begin(DRAIN_SECONDS)
  await phase.waitFor(reader.body).catch(() => {})
}

const decode = async (bytes: Buffer, maxOutputLength: number): Promise<Buffer> => {
  try {
    return await promisify<Buffer, object, Buffer>(gunzip)(bytes, { maxOutputLength })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') throw error
    throw createTooLargeError(maxOutputLength)
  }
}
