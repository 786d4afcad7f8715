import {
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction, Socket } from 'node:net'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { VERSION } from '../version.ts'
import { openPhases } from './phases.ts'
import type { Address } from './resolve.ts'
import { SendError } from './send-error.ts'

/** One request of HTTP, with every phase and size bounded. */
interface ExchangeRequest {
  url: URL
  method: 'GET' | 'POST' | 'PUT'
  headers: Readonly<Record<string, string>>
  body: string | undefined
  /** Gives the addresses that may be connected to; throws SendError for a target that may not. */
  findAddresses(): Promise<readonly Address[]>
  /** Unix socket to connect to instead. */
  socketPath?: string
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
  /** Authorities beside the system's, PEM. */
  ca?: string
}

export interface ExchangeAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

const MAX_HEADER_BYTES = 16 * 1024

/**
 * Makes one request on a connection of its own, to nothing but the given addresses, and follows no
 * redirect. Throws SendError, or the error of the socket.
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
    const sent = open(request, addresses)
    phase.onEnd(error => sent.destroy(error))
    phase.begin(request.connectSeconds)
    sent.once('socket', socket =>
      onConnected(request, socket, () => phase.begin(request.answerSeconds)),
    )
    const response = await phase.waitFor(responseTo(sent))
    phase.begin(request.answerSeconds)
    const body = await phase.waitFor(bodyOf(response, request))
    return { status: response.statusCode ?? 0, headers: response.headers, body }
  } finally {
    phase.end()
  }
}

const open = (
  { url, method, headers, body, ca, socketPath, acceptsGzip }: ExchangeRequest,
  addresses: readonly Address[],
): ClientRequest => {
  const secure = url.protocol === 'https:'
  const sent = (secure ? httpsRequest : httpRequest)(url, {
    method,
    agent: false,
    lookup: createPinnedLookup(addresses),
    maxHeaderSize: MAX_HEADER_BYTES,
    headers: {
      'user-agent': `shoal/${VERSION}`,
      accept: '*/*',
      ...(acceptsGzip ? { 'accept-encoding': 'gzip' } : {}),
      ...headers,
      ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
      connection: 'close',
    },
    ...(ca === undefined ? {} : { ca }),
    ...(socketPath === undefined ? {} : { socketPath }),
  })
  sent.end(body)
  return sent
}

/** Answers the addresses that were judged, whatever the name means by now. */
export const createPinnedLookup =
  (addresses: readonly Address[]): LookupFunction =>
  (_host, options, callback) => {
    const [first] = addresses
    if (options.all) callback(null, [...addresses])
    else callback(null, first?.address ?? '', first?.family)
  }

const onConnected = ({ url }: ExchangeRequest, socket: Socket, listener: () => void): void => {
  socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', listener)
}

const responseTo = (sent: ClientRequest): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    sent.once('response', resolve)
    // it stays: a connection that is cut later must not end the process
    sent.on('error', reject)
  })

/** Reads at most so many bytes; with 0 the connection is closed instead. */
const bodyOf = async (
  response: IncomingMessage,
  { maxAnswerBytes, acceptsGzip = false }: ExchangeRequest,
): Promise<Buffer> => {
  response.on('error', () => {})
  if (maxAnswerBytes === 0) {
    response.destroy()
    return Buffer.alloc(0)
  }
  const isCoded = acceptsGzip && /^(x-)?gzip$/i.test(response.headers['content-encoding'] ?? '')
  return readAtMost(isCoded ? gunzip(response) : response, maxAnswerBytes)
}

const readAtMost = async (stream: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> => {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of stream) {
    bytes += piece.length
    if (bytes > maxBytes)
      throw new SendError('too_large', `the answer has more than ${maxBytes} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/** A connection that is cut ends the decoded stream too, which `pipe` alone would not do. */
const gunzip = (response: IncomingMessage): AsyncIterable<Buffer> =>
  pipeline(response, createGunzip(), () => {})
