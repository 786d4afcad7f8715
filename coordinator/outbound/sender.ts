import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction, Socket } from 'node:net'
import { ShoalError } from '../../shared/errors.ts'
import { VERSION } from '../../shared/version.ts'
import { parseAllowed } from './allow-list.ts'
import { type JudgeRules, judgeUrl, type Target } from './judge.ts'
import type { Outbound } from './outbound-config.ts'
import { type Address, checkedAddresses, type Resolve, systemResolve } from './resolve.ts'
import { SendError } from './send-error.ts'
import { createTargetLimits } from './target-limits.ts'

interface OutboundRequest {
  url: string
  method?: 'GET' | 'POST'
  headers?: Record<string, string>
  body?: string
  /** Most bytes of the answer to read; more is an error. 0, the default, reads none of it. */
  maxAnswerBytes?: number
}

interface OutboundResponse {
  status: number
  /** Retry delay that the target asks for, at most an hour. */
  retryAfterSeconds: number
  contentType: string
  body: Buffer
}

/**
 * Sends to addresses provided by users: only to those that `judgeUrl` accepts, at the exact address
 * that was judged, without redirects, with every phase and size bounded. Of an answer, the user who
 * provided the address may see only whether it was a success.
 */
export interface Sender {
  /** Throws `invalid_request` for an address that would not be sent to. */
  judge(url: string): Target
  /** Throws SendError. */
  send(message: OutboundRequest, signal: AbortSignal): Promise<OutboundResponse>
}

export interface SenderParts {
  config: Outbound
  resolve?: Resolve
  /** Addresses of this machine. */
  ownAddresses?: () => readonly string[]
  /** Authorities beside the system's, PEM. */
  ca?: string
  nowMs?: () => number
  /** Part of a limit that this process may use, as one of several. */
  shareOf?: (limit: number) => number
  /** Called with the outcome of each request. */
  onOutcome?: (outcome: string) => void
}

/** Largest body of a request. */
export const MAX_OUTBOUND_BODY_BYTES = 1024 * 1024
const MAX_HEADER_BYTES = 16 * 1024
const MAX_RETRY_AFTER_SECONDS = 3600

export const createSender = (parts: SenderParts): Sender => {
  const { config, resolve = systemResolve, onOutcome = () => {}, shareOf = all => all } = parts
  const rules: JudgeRules = {
    allowed: config.allow.flatMap(text => parseAllowed(text) ?? []),
    allowHttp: config.allow_http,
    ...(parts.ownAddresses === undefined ? {} : { ownAddresses: parts.ownAddresses }),
  }
  const limits = createTargetLimits(
    () => ({
      concurrency: shareOf(config.target_concurrency),
      perMinute: shareOf(config.target_per_minute),
    }),
    parts.nowMs,
  )
  const judge: Sender['judge'] = url => judgeUrl(url, rules)

  const admitMessage = (message: OutboundRequest): Target => {
    if (Buffer.byteLength(message.body ?? '') > MAX_OUTBOUND_BODY_BYTES)
      throw new SendError('too_large', `it has more than ${MAX_OUTBOUND_BODY_BYTES} bytes`)
    try {
      return judge(message.url)
    } catch (error) {
      if (!(error instanceof ShoalError)) throw error
      throw new SendError('refused', error.message, { cause: error })
    }
  }

  const exchange = async (
    target: Target,
    message: OutboundRequest,
    signal: AbortSignal,
  ): Promise<OutboundResponse> => {
    const phase = phases(signal)
    try {
      phase.begin(config.connect_seconds)
      const addresses = await phase.waitFor(checkedAddresses(target, rules, resolve))
      const sent = open(target, message, addresses, parts.ca)
      phase.onEnd(error => sent.destroy(error))
      phase.begin(config.connect_seconds)
      sent.once('socket', socket =>
        onConnected(target, socket, () => phase.begin(config.answer_seconds)),
      )
      const response = await phase.waitFor(responseTo(sent))
      phase.begin(config.answer_seconds)
      const body = await phase.waitFor(bodyOf(response, message.maxAnswerBytes ?? 0))
      return answerOf(response, body)
    } finally {
      phase.end()
    }
  }

  const send: Sender['send'] = async (message, signal) => {
    const target = admitMessage(message)
    const name = `${target.host}:${target.port}`
    const waitMs = limits.enter(name)
    if (waitMs > 0)
      throw new SendError('busy', `${name} gets no more now`, { retryAfterSeconds: waitMs / 1000 })
    try {
      return await exchange(target, message, signal)
    } finally {
      limits.leave(name)
    }
  }

  return {
    judge,
    send: async (message, signal) => {
      try {
        const answer = await send(message, signal)
        onOutcome(`${Math.floor(answer.status / 100)}xx`)
        return answer
      } catch (error) {
        const failure = asSendError(error)
        onOutcome(failure.reason)
        throw failure
      }
    },
  }
}

/** One request on a connection of its own, to nothing but the addresses that were judged. */
const open = (
  { url }: Target,
  { method = 'POST', headers = {}, body }: OutboundRequest,
  addresses: readonly Address[],
  ca: string | undefined,
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
      ...headers,
      ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
      connection: 'close',
    },
    ...(ca === undefined ? {} : { ca }),
  })
  sent.end(body)
  return sent
}

/** Answers the addresses that were judged, whatever the name means by now. */
const createPinnedLookup =
  (addresses: readonly Address[]): LookupFunction =>
  (_host, options, callback) => {
    const [first] = addresses
    if (options.all) callback(null, [...addresses])
    else callback(null, first?.address ?? '', first?.family)
  }

const onConnected = ({ url }: Target, socket: Socket, listener: () => void): void => {
  socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', listener)
}

const responseTo = (sent: ClientRequest): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    sent.once('response', resolve)
    // it stays: a connection that is cut later must not end the process
    sent.on('error', reject)
  })

/** Reads at most so many bytes; with 0 the connection is closed instead. */
const bodyOf = async (response: IncomingMessage, maxBytes: number): Promise<Buffer> => {
  response.on('error', () => {})
  if (maxBytes === 0) {
    response.destroy()
    return Buffer.alloc(0)
  }
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > maxBytes)
      throw new SendError('too_large', `the answer has more than ${maxBytes} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

const answerOf = ({ statusCode = 0, headers }: IncomingMessage, body: Buffer): OutboundResponse => {
  const seconds = Number(headers['retry-after'])
  const wanted = Number.isFinite(seconds) && seconds > 0 ? seconds : 0
  return {
    status: statusCode,
    retryAfterSeconds: Math.min(MAX_RETRY_AFTER_SECONDS, wanted),
    contentType: headers['content-type'] ?? '',
    body,
  }
}

/** The time limits of one request, one phase after another; the caller's signal ends any. */
const phases = (signal: AbortSignal) => {
  const ended = Promise.withResolvers<never>()
  ended.promise.catch(() => {})
  let timer: NodeJS.Timeout | undefined
  const stop = (error: SendError): void => ended.reject(error)
  const abort = () => stop(new SendError('aborted', 'it was stopped'))
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  return {
    begin: (seconds: number): void => {
      clearTimeout(timer)
      const onTimeout = () => stop(new SendError('timed_out', `no answer within ${seconds} s`))
      timer = setTimeout(onTimeout, seconds * 1000)
    },
    waitFor: <T>(work: Promise<T>): Promise<T> => {
      work.catch(() => {})
      return Promise.race([work, ended.promise])
    },
    onEnd: (run: (error: Error) => void): void => void ended.promise.catch(run),
    end: (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      abort()
    },
  }
}

/** Names of failures of TLS and sockets tell enough; their texts may quote the other side. */
const asSendError = (error: unknown): SendError => {
  if (error instanceof SendError) return error
  const { code = 'unknown' } = error as NodeJS.ErrnoException
  return new SendError('not_reached', `the target was not reached (${code})`, { cause: error })
}
