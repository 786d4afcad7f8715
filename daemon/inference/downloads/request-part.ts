// not undici: its body is a stream, which undici below 8 must not pause (see answer-reader.ts)
import http from 'node:http'
import https from 'node:https'
import type { Readable } from 'node:stream'
import { createPinnedLookup } from '../../../shared/outbound/connections.ts'
import { VERSION } from '../../../shared/version.ts'
import { parseDownloadUrl } from '../../../shared/weights-source.ts'
import type { Clock } from '../clock.ts'
import type { AddressGuard } from './address-guard.ts'
import { DownloadError } from './download-error.ts'

interface PartRequest {
  url: URL
  /** Finds the addresses that a server may be reached at. */
  findAddresses: AddressGuard
  /** Header for the server of that address, and for no other that it redirects to. */
  authorization: string | undefined
  /** Bytes that are there already. */
  from: number
  /** The server's name for the version of those bytes. */
  validator: string | undefined
  /** Time in which a server must send at least a little. */
  stallSeconds: number
  clock: Clock
  signal: AbortSignal
}

export interface PartAnswer {
  /** Offset of the body: as requested, or 0 when the server sends the whole file. */
  from: number
  /** Size of the whole file. */
  totalBytes: number | undefined
  /** A name of this version that later requests can refer to. */
  validator: string | undefined
  /** Facts that a hub states about the file before it redirects to the bytes. */
  promised: { sha256?: string; totalBytes?: number }
  body: AsyncIterable<Buffer>
  /** Lets go of the connection. */
  close(): void
}

const MAX_REDIRECTS = 5
/** A server slower than this over the whole time counts as one that has stopped. */
const LEAST_BYTES_PER_SECOND = 1024

/**
 * Asks for the rest of a file (RFC 9110, 14 and 13.1.5): the server sends the rest only when the
 * file is still the same, else all of it.
 *
 * @throws DownloadError for an answer that is none; other errors are the network's
 */
export const requestPart = async (request: PartRequest): Promise<PartAnswer> => {
  let { url } = request
  let promised: PartAnswer['promised'] = {}
  for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
    const watched = await send(url, request)
    const { response } = watched
    const next = redirection(response)
    if (next === undefined) return { ...answer(watched, url, request), promised }
    watched.close()
    if (url.origin === request.url.origin)
      promised = { ...promised, ...readLinkedFacts(response.headers) }
    url = follow(url, next)
  }
  throw new DownloadError(`${request.url.host} redirects more than ${MAX_REDIRECTS} times`, 'never')
}

interface Watched {
  response: http.IncomingMessage
  body: AsyncIterable<Buffer>
  close(): void
}

const send = async (url: URL, request: PartRequest): Promise<Watched> => {
  const { from, validator, stallSeconds, clock, signal, authorization } = request
  const addresses = await request.findAddresses(url)
  const resume = from > 0 && validator !== undefined
  const sent = (url.protocol === 'https:' ? https : http).request(url, {
    agent: false,
    // the addresses that were judged, whatever the name means by now
    lookup: createPinnedLookup(addresses),
    signal,
    headers: {
      accept: '*/*',
      'accept-encoding': 'identity',
      'user-agent': `shoal/${VERSION}`,
      ...(authorization && url.origin === request.url.origin && { authorization }),
      ...(resume && { range: `bytes=${from}-`, 'if-range': validator }),
    },
  })
  let stream: Readable | http.ClientRequest = sent
  const watch = stallWatch(clock, stallSeconds, error => stream.destroy(error))
  const close = (): void => {
    watch.end()
    sent.destroy()
  }
  try {
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      sent.on('response', resolve).on('error', reject).end()
    })
    stream = response.on('error', () => {})
    return { response, body: watch.count(response), close }
  } catch (error) {
    close()
    throw error
  }
}

/** Ends a download that delivers too little per interval. */
const stallWatch = (clock: Clock, seconds: number, stop: (error: Error) => void) => {
  let bytes = Number.POSITIVE_INFINITY
  let callOff = (): void => {}
  const look = (): void => {
    if (bytes < seconds * LEAST_BYTES_PER_SECOND)
      stop(new Error(`it sent almost nothing for ${seconds} s`))
    else callOff = clock.callAfter(seconds * 1000, look)
    bytes = 0
  }
  look()
  async function* count(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of body) {
      bytes += chunk.length
      yield chunk
    }
  }
  return { count, end: () => callOff() }
}

const redirection = ({ statusCode = 0, headers }: http.IncomingMessage): string | undefined =>
  [301, 302, 303, 307, 308].includes(statusCode) ? (headers.location ?? '') : undefined

const follow = (from: URL, location: string): URL => {
  try {
    const next = parseDownloadUrl(new URL(location, from).href)
    if (from.protocol === 'https:' && next.protocol !== 'https:')
      throw new Error('it redirects from https to plain http')
    return next
  } catch (cause) {
    const { message } = cause as Error
    throw new DownloadError(
      `a redirect of ${from.host} is not followed: ${message}`,
      'never',
      cause,
    )
  }
}

type Understood = Omit<PartAnswer, 'promised'>

const answer = ({ response, body, close }: Watched, at: URL, request: PartRequest): Understood => {
  try {
    return { ...readAnswer(response, at, request), body, close }
  } catch (error) {
    close()
    throw error
  }
}

const readAnswer = (response: http.IncomingMessage, at: URL, { from, url }: PartRequest) => {
  const { statusCode = 0, headers } = response
  const validator = validatorOf(headers)
  const range = /^bytes (?:(\d+)-\d+|\*)\/(\d+)$/.exec(headers['content-range'] ?? '')
  if (statusCode === 200) return { from: 0, totalBytes: lengthOf(headers), validator }
  if (statusCode === 206 && range !== null && Number(range[1]) === from)
    return { from, totalBytes: Number(range[2]), validator }
  // The file is already complete
  if (statusCode === 416 && Number(range?.[2]) === from)
    return { from, totalBytes: from, validator }
  // The partial file belongs to another version
  if (statusCode === 206 || statusCode === 416) throw new UnusablePart()
  const passing = statusCode >= 500 || statusCode === 408 || statusCode === 429
  const expired = statusCode === 403 && at.origin !== url.origin
  const message = `${at.host} answers ${statusCode} for ${at.pathname}${reasonFrom(headers)}`
  throw new DownloadError(message, passing || expired ? 'now' : 'never')
}

/**
 * Facts about a file in large file storage: the hub sends sha256 and size with the redirect
 * (huggingface_hub, `get_hf_file_metadata`). The tag of any other file is not a sha256.
 */
const readLinkedFacts = (headers: http.IncomingHttpHeaders): PartAnswer['promised'] => {
  const tag = /^"?([0-9a-f]{64})"?$/.exec(String(headers['x-linked-etag'] ?? ''))?.[1]
  const size = /^\d{1,15}$/.exec(String(headers['x-linked-size'] ?? ''))?.[0]
  return {
    ...(tag !== undefined && { sha256: tag }),
    ...(size !== undefined && { totalBytes: Number(size) }),
  }
}

const MAX_SAID_LENGTH = 200

/** The hub's reason for a refusal: a gated or missing repository, or an unknown revision. */
const reasonFrom = (headers: http.IncomingHttpHeaders): string => {
  const said = String(headers['x-error-message'] ?? headers['x-error-code'] ?? '')
  const plain = said.replace(/[^\x20-\x7e]/g, '').slice(0, MAX_SAID_LENGTH)
  return plain === '' ? '' : `: ${plain}`
}

/** The server cannot resume from this offset; restart the download. */
export class UnusablePart extends Error {}

const lengthOf = ({ 'content-length': length }: http.IncomingHttpHeaders): number | undefined =>
  length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined

/** Weak entity tags cannot be used for ranges. */
const validatorOf = ({ etag, ...headers }: http.IncomingHttpHeaders): string | undefined =>
  etag?.startsWith('"') ? etag : headers['last-modified']
