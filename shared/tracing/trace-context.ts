import type { IncomingHttpHeaders } from 'node:http'

/** W3C Trace Context (w3.org/TR/trace-context), section 3.2: version, trace, parent, flags. */
const TRACEPARENT =
  /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-.*)?$/
/** Of version 00; later ones may say more after it. */
const LENGTH = 55
/** Longer ones may be cut (section 3.3.1.5); nobody needs us to pass on more. */
const MAX_STATE_LENGTH = 512

/** Where a request comes from, as other systems have named it. */
export interface TraceContext {
  traceId: string
  spanId: string
  traceFlags: number
  /** The header as it came, for the next one. */
  traceparent: string
  tracestate: string | undefined
}

/** Undefined when there is none or it is not valid; then its `tracestate` is not heard either. */
export const traceContextOf = (headers: IncomingHttpHeaders): TraceContext | undefined => {
  const { traceparent, tracestate } = headers
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return undefined
  if (traceparent.startsWith('00') && traceparent.length > LENGTH) return undefined
  const state = typeof tracestate === 'string' && tracestate.length <= MAX_STATE_LENGTH
  return {
    traceId: traceparent.slice(3, 35),
    spanId: traceparent.slice(36, 52),
    traceFlags: Number.parseInt(traceparent.slice(53, LENGTH), 16) & 1,
    traceparent,
    tracestate: state ? tracestate : undefined,
  }
}

/** What to send on: `traceparent`, and `tracestate` where there is one. */
export type TraceHeaders = { traceparent?: string; tracestate?: string }

export const traceHeaders = (context: TraceContext | undefined): TraceHeaders => {
  if (context === undefined) return {}
  const { traceparent, tracestate } = context
  return { traceparent, ...(tracestate !== undefined && { tracestate }) }
}
