import type { IncomingHttpHeaders } from 'node:http'

/** W3C Trace Context (w3.org/TR/trace-context), section 3.2: version, trace, parent, flags. */
const TRACEPARENT =
  /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-.*)?$/
/** Length of version 00; later versions may append fields. */
const LENGTH = 55
/** Longer values may be dropped (section 3.3.1.5). */
const MAX_STATE_LENGTH = 512

/** Trace context received with a request. */
export interface TraceContext {
  traceId: string
  spanId: string
  traceFlags: number
  /** Header value as received, for the next hop. */
  traceparent: string
  tracestate: string | undefined
}

/** Reads the trace of a request; undefined when the header is absent or invalid: its `tracestate` is then ignored too. */
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

/** Headers to send on: `traceparent`, and `tracestate` if there is one. */
export type TraceHeaders = { traceparent?: string; tracestate?: string }

export const traceHeaders = (context: TraceContext | undefined): TraceHeaders => {
  if (context === undefined) return {}
  const { traceparent, tracestate } = context
  return { traceparent, ...(tracestate !== undefined && { tracestate }) }
}
