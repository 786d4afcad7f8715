import type { IncomingHttpHeaders } from 'node:http'
import {
  type Attributes,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { ShoalError } from '../errors.ts'
import { hideMarkedSecrets } from '../hide-secrets.ts'
import { VERSION } from '../version.ts'
import {
  ERROR_TYPE,
  type GenAiOperation,
  OPERATION,
  PROVIDER,
  REQUEST_MODEL,
  requestAttributes,
} from './gen-ai.ts'
import {
  type TraceContext,
  type TraceHeaders,
  traceContextOf,
  traceHeaders,
} from './trace-context.ts'

/** Span of one inference request. */
export interface InferenceSpan {
  /** Headers for the next hop: of this span, or the incoming ones when tracing is off. */
  headers: TraceHeaders
  /** False when tracing is off: attributes need not be collected. */
  isTraced: boolean
  /** Records an event within the span. */
  addEvent(name: string): void
  /** Ends the span; an error marks it as failed. Only the first call counts. */
  end(attributes: Attributes, error?: unknown): void
}

interface InferenceSpanOptions {
  operation: GenAiOperation
  model: string
  /** Request body; only its numeric parameters are read. */
  body: unknown
  /** Request headers, whose trace is continued. */
  headers: IncomingHttpHeaders
  attributes: () => Attributes
}

const NAME = 'shoal'

/** True when an SDK is loaded, which may happen after this module. */
const isTracing = (): boolean => {
  const provider = trace.getTracerProvider()
  return !(
    provider instanceof ProxyTracerProvider &&
    provider.getDelegateTracer(NAME, VERSION) === undefined
  )
}

/** Starts the span of an inference request. Costs next to nothing while no SDK is loaded. */
export const startInferenceSpan = (options: InferenceSpanOptions): InferenceSpan => {
  const caller = traceContextOf(options.headers)
  if (!isTracing()) return createNoopSpan(caller)
  const { operation, body, attributes } = options
  // the name comes from the client, and may be a key in the wrong place
  const model = hideMarkedSecrets(options.model)
  const span = trace.getTracer(NAME, VERSION).startSpan(
    `${operation} ${model}`,
    {
      kind: SpanKind.SERVER,
      attributes: {
        [OPERATION]: operation,
        [PROVIDER]: NAME,
        [REQUEST_MODEL]: model,
        ...requestAttributes(Object(body)),
        ...attributes(),
      },
    },
    parentOf(caller),
  )
  return wrapSpan(span, caller)
}

const createNoopSpan = (caller: TraceContext | undefined): InferenceSpan => ({
  headers: traceHeaders(caller),
  isTraced: false,
  addEvent: () => {},
  end: () => {},
})

const parentOf = (caller: TraceContext | undefined) => {
  if (caller === undefined) return ROOT_CONTEXT
  const { traceId, spanId, traceFlags } = caller
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}

const wrapSpan = (span: Span, caller: TraceContext | undefined): InferenceSpan => {
  const { traceId, spanId, traceFlags } = span.spanContext()
  const flags = traceFlags & TraceFlags.SAMPLED ? '01' : '00'
  return {
    headers: { ...traceHeaders(caller), traceparent: `00-${traceId}-${spanId}-${flags}` },
    isTraced: true,
    addEvent: name => void span.addEvent(name),
    end: (attributes, error) => {
      if (!span.isRecording()) return
      span.setAttributes(attributes)
      if (error !== undefined) {
        const type = error instanceof ShoalError ? error.code : (error as Error).name
        span.setAttribute(ERROR_TYPE, type)
        span.setStatus({
          code: SpanStatusCode.ERROR,
          message: hideMarkedSecrets((error as Error).message),
        })
      }
      span.end()
    },
  }
}
