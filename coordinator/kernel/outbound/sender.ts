import { ShoalError } from '../../../shared/errors.ts'
import { parseAllowed } from '../../../shared/outbound/allow-list.ts'
import { KeptConnections } from '../../../shared/outbound/connections.ts'
import { type ExchangeAnswer, exchange } from '../../../shared/outbound/exchange.ts'
import { type JudgeRules, judgeUrl, type Target } from '../../../shared/outbound/judge.ts'
import { checkAddresses, type Resolve, systemResolve } from '../../../shared/outbound/resolve.ts'
import { asSendError, SendError } from '../../../shared/outbound/send-error.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import type { Outbound } from './outbound-config.ts'
import { createTargetLimits } from './target-limits.ts'

interface OutboundRequest {
  url: string
  method?: 'GET' | 'POST' | 'PUT'
  headers?: Record<string, string>
  body?: string
  /** Most bytes of the answer to read; more is an error. 0, the default, reads none of it. */
  maxAnswerBytes?: number
  /**
   * Flag of a message that is sent again after a failure: it may use an open connection, which the
   * target can close at any time.
   */
  isRepeated?: boolean
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
  runtime: Pick<Runtime, 'nowMs'>
  /** Part of a limit that this process may use, as one of several. */
  shareOf?: (limit: number) => number
  /** Receives the outcome of each request. */
  onOutcome?: (outcome: string) => void
}

/** Largest body of a request. */
export const MAX_OUTBOUND_BODY_BYTES = 1024 * 1024
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
    parts.runtime.nowMs,
  )
  const connections = new KeptConnections()
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

  const exchangeWith = async (
    target: Target,
    { method = 'POST', headers = {}, body, maxAnswerBytes = 0, isRepeated }: OutboundRequest,
    signal: AbortSignal,
  ): Promise<OutboundResponse> => {
    const request = {
      url: target.url,
      method,
      headers,
      body,
      maxAnswerBytes,
      findAddresses: () => checkAddresses(target, rules, resolve),
      connectSeconds: config.connect_seconds,
      answerSeconds: config.answer_seconds,
      ...(parts.ca === undefined ? {} : { ca: parts.ca }),
      ...(isRepeated ? { connections } : {}),
    }
    return answerOf(await exchange(request, signal))
  }

  const send: Sender['send'] = async (message, signal) => {
    const target = admitMessage(message)
    const name = `${target.host}:${target.port}`
    const waitMs = limits.enter(name)
    if (waitMs > 0)
      throw new SendError('busy', `${name} accepts no more requests now`, {
        retryAfterSeconds: waitMs / 1000,
      })
    try {
      return await exchangeWith(target, message, signal)
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

const answerOf = ({ status, headers, body }: ExchangeAnswer): OutboundResponse => {
  const seconds = Number(headers['retry-after'])
  const wanted = Number.isFinite(seconds) && seconds > 0 ? seconds : 0
  return {
    status,
    retryAfterSeconds: Math.min(MAX_RETRY_AFTER_SECONDS, wanted),
    contentType: headers['content-type'] ?? '',
    body,
  }
}
