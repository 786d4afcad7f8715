import { backOffMs } from '../../shared/back-off.ts'
import { asSendError } from '../../shared/outbound/send-error.ts'
import type { Wait } from '../../shared/wait.ts'
import { UpstreamError } from './client.ts'
import { failureOfError, failureOfStatus, isTransient } from './failure.ts'
import type { HostLimits } from './host-limits.ts'
import type { PreparedRequest } from './prepare.ts'
import { readBody } from './read-body.ts'
import type { Source } from './source.ts'
import type { TransportReply, Transports } from './transport.ts'

export interface AskParts {
  transports: Transports
  limits: HostLimits
  now: () => number
  wait: Wait
  /** Random number from 0 to 1. */
  random: () => number
  /** Receives the outcome of each request that was sent. */
  onRequest(source: string, outcome: string): void
}

const CONNECT_SECONDS = 3
const TOTAL_SECONDS = 10
const MAX_BYTES = 5 * 1024 * 1024
const MAX_RETRIES = 2
/** Longest wait for a place at a host, and for the end of a pause. */
const MAX_WAIT_MS = 15_000
const NOT_MODIFIED = 304

const timeoutOf = ({ timeoutSeconds = TOTAL_SECONDS }: Source): number => timeoutSeconds
export const maxBytesOf = ({ maxBytes = MAX_BYTES }: Source): number => maxBytes

/**
 * Asks a source, within its rate, and again where that helps and its time allows. A good answer is one
 * whose body is of the form that was asked for.
 * @throws UpstreamError
 */
export const askSource = async (
  prepared: PreparedRequest,
  conditions: Readonly<Record<string, string>>,
  parts: AskParts,
  signal: AbortSignal,
): Promise<TransportReply> => {
  const { source } = prepared.request
  const endsAt = performance.now() + timeoutOf(source) * 1000
  for (let retries = 0; ; retries++) {
    const leftMs = endsAt - performance.now()
    await enterHost(prepared, parts, retries === 0 ? MAX_WAIT_MS : leftMs, signal)
    const result = await tryOnce(prepared, conditions, parts, leftMs, signal)
    if (!(result instanceof UpstreamError)) return result
    const waitMs = retryWaitMs(prepared, result, retries, parts.random)
    if (waitMs === undefined || waitMs >= endsAt - performance.now()) throw result
    await parts.wait(waitMs, signal)
    signal.throwIfAborted()
  }
}

/** The pause of a retry, to which up to a second is added. */
const RETRY = { firstMs: 1000, maxMs: 60_000 }

/** Milliseconds before the next try; undefined when there is none. */
const retryWaitMs = (
  { method, request: { source } }: PreparedRequest,
  error: UpstreamError,
  retries: number,
  random: () => number,
): number | undefined => {
  const isRepeatable = method === 'GET' && source.floorSeconds === undefined
  if (!isRepeatable || retries === MAX_RETRIES || !isTransient(error)) return undefined
  return error.retryAfterSeconds === undefined
    ? backOffMs(RETRY, retries) + random() * 1000
    : error.retryAfterSeconds * 1000
}

const enterHost = async (
  { request: { source }, url, hasSecret, cacheKey }: PreparedRequest,
  { limits, wait }: AskParts,
  maxWaitMs: number,
  signal: AbortSignal,
): Promise<void> => {
  const waitMs = limits.take(source, url.host, hasSecret, maxWaitMs)
  if (waitMs > maxWaitMs) {
    const retryAfterSeconds = Math.ceil(waitMs / 1000)
    const message = `it gets no more requests for ${retryAfterSeconds} s, to stay within its limits`
    throw new UpstreamError(source.id, 'rate_limited', message, { retryAfterSeconds })
  }
  if (waitMs > 0) await wait(waitMs, signal)
  if (signal.aborted) {
    limits.give(source, url.host)
    signal.throwIfAborted()
  }
  await limits.note(source, cacheKey)
}

const tryOnce = async (
  prepared: PreparedRequest,
  conditions: Readonly<Record<string, string>>,
  parts: AskParts,
  leftMs: number,
  signal: AbortSignal,
): Promise<TransportReply | UpstreamError> => {
  const { source } = prepared.request
  let outcome = 'failed'
  try {
    const reply = await send(prepared, conditions, parts.transports, leftMs, signal)
    await obeyPause(prepared, reply, parts)
    const error = await findFault(prepared, reply, parts.now())
    outcome = error?.failure ?? (reply.status === NOT_MODIFIED ? 'not_modified' : 'answered')
    return error ?? reply
  } catch (cause) {
    signal.throwIfAborted()
    const error = failureOfError(source, cause)
    outcome = error.failure
    return error
  } finally {
    parts.onRequest(source.id, outcome)
  }
}

const send = async (
  { request: { source }, ...prepared }: PreparedRequest,
  conditions: Readonly<Record<string, string>>,
  transports: Transports,
  leftMs: number,
  signal: AbortSignal,
): Promise<TransportReply> => {
  const transport = transports[prepared.url.protocol]
  if (transport === undefined)
    throw new UpstreamError(source.id, 'not_reached', `no client for ${prepared.url.protocol}`)
  const request = {
    ...prepared,
    headers: { ...prepared.headers, ...conditions },
    staysOnHost: source.staysOnHost === true,
    connectSeconds: CONNECT_SECONDS,
    totalSeconds: leftMs / 1000,
    maxBytes: maxBytesOf(source),
  }
  return transport(request, signal).catch(error => {
    throw error instanceof UpstreamError ? error : asSendError(error)
  })
}

/** Leaves the host alone for as long as it asks, whatever the answer is. */
const obeyPause = async (
  { request: { source }, url }: PreparedRequest,
  reply: TransportReply,
  { limits, now }: AskParts,
): Promise<void> => {
  const { status, headers } = reply
  const own = source.pauseSeconds?.({ status, headers, text: reply.body.toString('utf8') }, now())
  const isLimited = status === 429 || status === 503
  const asked = isLimited
    ? failureOfStatus(source, reply, { hasKey: true, now: now() }).retryAfterSeconds
    : undefined
  const seconds = own ?? asked
  if (seconds !== undefined && seconds > 0) await limits.pause(source, url.host, seconds)
}

const findFault = async (
  { request: { source, form, reading, accepts = [] }, hasSecret }: PreparedRequest,
  reply: TransportReply,
  now: number,
): Promise<UpstreamError | undefined> => {
  const { status } = reply
  if (status === NOT_MODIFIED || accepts.includes(status)) return undefined
  if (status < 200 || status > 299)
    return failureOfStatus(source, reply, { hasKey: hasSecret, now })
  try {
    const as = { form, ...(reading && { reading }) }
    await readBody(as, reply.headers['content-type'] ?? '', reply.body)
    return undefined
  } catch (error) {
    return failureOfError(source, error, status)
  }
}
