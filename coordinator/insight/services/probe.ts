import { readDocument } from '../../../shared/foreign/read-document.ts'
import { SendError } from '../../../shared/outbound/send-error.ts'
import type { Sender } from '../../kernel/outbound/sender.ts'

/** `unknown` says nothing about the service: it could not be asked, or its answer does not tell. */
export const SERVICE_STATES = ['up', 'degraded', 'down', 'unknown', 'not_configured'] as const
export type ServiceState = (typeof SERVICE_STATES)[number]

/** Answer of one address. */
export interface Check {
  name: string
  url: string
  state: 'up' | 'down' | 'unknown'
  httpStatus: number | undefined
  /** Time until the whole answer had arrived, in milliseconds. */
  latencyMs: number
  /** Reason for a state other than `up`. */
  fault: string | undefined
  /** Parsed JSON of the answer; undefined when it is not JSON. */
  body: unknown
}

export interface Question {
  name: string
  url: string
  /** Returns what is wrong with an answer of status 200. */
  findFault?: (body: unknown) => string | undefined
}

export type Ask = (question: Question, signal: AbortSignal) => Promise<Check>

const MAX_ANSWER_BYTES = 256 * 1024
/**
 * Failures of a connection that only the target can cause. An unreachable host is not among them: the
 * coordinator's own network may have failed.
 */
const REFUSING = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE']

/** Creates a function that asks an address by GET and judges its answer. */
export const createAsk =
  (sender: Pick<Sender, 'send'>, nowMs: () => number): Ask =>
  async ({ name, url, findFault = () => undefined }, signal) => {
    const begun = nowMs()
    const checkOf = (rest: Pick<Check, 'state'> & Partial<Check>): Check => ({
      name,
      url,
      httpStatus: undefined,
      fault: undefined,
      body: undefined,
      latencyMs: Math.round(nowMs() - begun),
      ...rest,
    })
    try {
      const message = { url, method: 'GET' as const, maxAnswerBytes: MAX_ANSWER_BYTES }
      const { status, body: bytes } = await sender.send(message, signal)
      const body = await parseJson(bytes)
      const fault = status === 200 ? findFault(body) : `it answered ${status}`
      const state = status >= 500 ? 'down' : fault === undefined ? 'up' : 'unknown'
      return checkOf({ state, httpStatus: status, fault, body })
    } catch (error) {
      return checkOf({ state: stateOf(error), fault: (error as Error).message })
    }
  }

const stateOf = (error: unknown): Check['state'] => {
  if (!(error instanceof SendError)) throw error
  if (error.reason === 'aborted') throw error
  const { code = '' } = (error.cause ?? {}) as NodeJS.ErrnoException
  return error.reason === 'timed_out' || REFUSING.includes(code) ? 'down' : 'unknown'
}

/** Undefined for an answer that is no JSON, or exceeds the bounds of documents. */
const parseJson = (bytes: Buffer): Promise<unknown> =>
  readDocument(bytes, { format: 'json' }).catch(() => undefined)

/** Field of an answer; undefined where it is no object. */
export const fieldOf = (body: unknown, name: string): unknown =>
  typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[name] : undefined
