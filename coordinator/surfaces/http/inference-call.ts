import type { OutgoingHttpHeaders } from 'node:http'
import type { InferenceSpan } from '../../../shared/tracing/inference-span.ts'
import { HEADER_MAX_TOKENS, HEADER_REQUEST_ID } from '../../../shared/wire/link.ts'
import type { Admission } from '../../access/quota/quota.ts'
import type { DeclinedAnswer } from '../../gateway/dispatch/dispatch-request.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import type { RoutingWatch } from '../metrics/inference-metrics.ts'
import type { HttpExchange } from './exchange.ts'

/** An inference request that was admitted. */
export interface InferenceCall {
  exchange: HttpExchange
  key: Key
  /** Unix time, milliseconds. */
  startedAt: number
  /** The same instant in monotonic milliseconds. */
  startedMs: number
  admission: Admission
  answerHeaders: OutgoingHttpHeaders
  /** The body for a model. */
  body: (model: string) => Buffer
  affinity: number | undefined
  stream: boolean
  span: InferenceSpan
  /** Watches of the answers that may still be used or discarded. */
  kept: Map<DeclinedAnswer, RoutingWatch>
}

const EMPTY = Buffer.alloc(0)

/** Returns the bytes once, so that the memory can be released afterwards. */
export const once = (bytes: Buffer): InferenceCall['body'] => {
  let held = bytes
  return () => {
    const given = held
    held = EMPTY
    return given
  }
}

/** A body whose model is replaced. */
export const bodyFor =
  (body: unknown): InferenceCall['body'] =>
  model =>
    Buffer.from(JSON.stringify({ ...(body as object), model }))

/** Headers that a cell receives with the body. */
export const linkHeaders = (
  requestId: string,
  maxTokens: number,
  trace: OutgoingHttpHeaders,
  more: OutgoingHttpHeaders = {},
): OutgoingHttpHeaders => ({
  'content-type': 'application/json',
  [HEADER_REQUEST_ID]: requestId,
  [HEADER_MAX_TOKENS]: String(maxTokens),
  ...trace,
  ...more,
})
