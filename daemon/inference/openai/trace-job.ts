import { hostname } from 'node:os'
import type { Attributes } from '@opentelemetry/api'
import {
  CACHED_TOKENS,
  FINISH_REASONS,
  type GenAiOperation,
  INPUT_TOKENS,
  OUTCOME,
  OUTPUT_TOKENS,
  REQUEST_ID,
  RESPONSE_MODEL,
  SERVER_ADDRESS,
} from '../../../shared/tracing/gen-ai.ts'
import { type InferenceSpan, startInferenceSpan } from '../../../shared/tracing/inference-span.ts'
import { HEADER_REQUEST_ID } from '../../../shared/wire/link.ts'
import type { EngineDoor } from '../engine-view.ts'
import type { EngineEvent, EngineListener } from '../jobs.ts'
import { type HttpRequest, runOnAbort } from './http.ts'

interface TracedJob {
  operation: GenAiOperation
  /** The validated request. */
  body: { model: string }
  request: HttpRequest
  /** Aborts when the answer has ended or its reader has disconnected. */
  gone: AbortSignal
}

/** Wraps a listener; with tracing enabled, a span covers the request up to its last event. */
const traceJob = (
  job: TracedJob,
  listener: EngineListener,
): { hear: EngineListener; onRefusal: (error: unknown) => void } => {
  const { operation, body, request, gone } = job
  const span = startInferenceSpan({
    operation,
    model: body.model,
    body,
    headers: request.headers,
    attributes: () => startAttributes(request),
  })
  if (!span.isTraced) return { hear: listener, onRefusal: () => {} }
  runOnAbort(gone, () => span.end({ [OUTCOME]: 'cancelled' }))
  const recordEvent = createEventRecorder(span, body.model)
  const hear: EngineListener = event => {
    recordEvent(event)
    listener(event)
  }
  return { hear, onRefusal: error => span.end({ [OUTCOME]: 'failed' }, error) }
}

/** Wraps an engine so that each of its answers is traced, refused ones included. */
export const traceDoor = (engine: EngineDoor, job: TracedJob): EngineDoor => ({
  submit: (work, bytes, listener, how) => {
    const { hear, onRefusal } = traceJob(job, listener)
    try {
      return engine.submit(work, bytes, hear, how)
    } catch (error) {
      onRefusal(error)
      throw error
    }
  },
})

const startAttributes = ({ headers }: HttpRequest): Attributes => {
  const id = headers[HEADER_REQUEST_ID]
  return { [SERVER_ADDRESS]: hostname(), ...(typeof id === 'string' && { [REQUEST_ID]: id }) }
}

const createEventRecorder = (
  span: InferenceSpan,
  model: string,
): ((event: EngineEvent) => void) => {
  let usage: Attributes = {}
  let isFirst = true
  return event => {
    if (event.type === 'echo') return
    if (event.type === 'start') {
      usage = { [INPUT_TOKENS]: event.promptTokens, [CACHED_TOKENS]: event.cachedTokens }
      span.addEvent('prompt begun')
    } else if (event.type === 'text') {
      if (isFirst) span.addEvent('first token')
      isFirst = false
    } else if (event.type === 'vectors' || event.type === 'scores')
      span.end({ [OUTCOME]: 'ok', [RESPONSE_MODEL]: model, [INPUT_TOKENS]: event.promptTokens })
    else if (event.type === 'error') span.end({ ...usage, [OUTCOME]: 'failed' }, event.error)
    else
      span.end({
        ...usage,
        [OUTCOME]: event.reason === 'cancelled' ? 'cancelled' : 'ok',
        [RESPONSE_MODEL]: model,
        [OUTPUT_TOKENS]: event.completionTokens,
        [FINISH_REASONS]: [event.reason],
      })
  }
}
