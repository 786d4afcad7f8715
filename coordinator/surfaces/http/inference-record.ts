import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Runtime } from '../../../shared/runtime.ts'
import type { Refusal } from '../../access/quota/refusals.ts'
import type { NewUsage, UsageStore } from '../../access/quota/usage.ts'
import type { DiscardedAnswer } from '../../gateway/cascade/cascade.ts'
import type { DispatchOutcome } from '../../gateway/dispatch/dispatch-request.ts'
import type { HttpExchange } from './exchange.ts'
import type { InferenceCall } from './inference-call.ts'
import { endTrace } from './trace-inference.ts'

export interface InferenceRecordParts {
  answerHeaders: FastifyInstance['answerHeaders']
  usage: Pick<UsageStore, 'record'> & { countRefusal?: (refusal: Refusal) => void }
  logger: Pick<Logger, 'error'>
  /** Unix time, milliseconds. */
  now: () => number
  runtime: Runtime
}

interface Used extends Pick<DispatchOutcome, 'cellId' | 'usage' | 'beganAtMs' | 'retries'> {
  model: string
  status: NewUsage['status']
  durationMs: number
}

/** Status of a request whose client has left. */
const CLIENT_CLOSED = 499

/** Records the outcome of requests. */
export const createInferenceRecord = ({
  answerHeaders,
  usage,
  logger,
  now,
}: InferenceRecordParts) => {
  const write = async (call: InferenceCall, used: Used): Promise<void> => {
    const { exchange, key, startedAt, startedMs } = call
    const { beganAtMs, retries = 0 } = used
    const row = {
      at: startedAt,
      key_id: key.id,
      tenant_id: exchange.tenantId,
      model: used.model,
      cell_id: used.cellId ?? '',
      route: exchange.route,
      status: used.status,
      prompt_tokens: used.usage?.prompt_tokens ?? null,
      completion_tokens: used.usage?.completion_tokens ?? null,
      cached_tokens: used.usage?.prompt_tokens_details?.cached_tokens ?? null,
      // a clock that was set back meanwhile must not cost the row
      duration_ms: Math.max(0, used.durationMs),
      request_id: exchange.id,
      ttft_ms: beganAtMs === undefined ? null : Math.round(beganAtMs - startedMs),
      retries,
    }
    try {
      await usage.record(row)
    } catch (error) {
      logger.error({ err: error, row }, 'usage not recorded')
    }
  }

  /** Counts a request that was refused. `model` is empty for one that the catalogue lacks. */
  const countRefusal = (exchange: HttpExchange, model: string, httpStatus: number): void => {
    const { key, tenantId } = exchange
    if (key === undefined || httpStatus === CLIENT_CLOSED) return
    const isUnavailable = httpStatus >= 500
    usage.countRefusal?.({ at: now(), keyId: key.id, tenantId, model, isUnavailable })
  }

  /** A request that was refused costs nothing, and the headers say so; any other leaves a row. */
  const record = async (
    call: InferenceCall,
    model: string,
    outcome: DispatchOutcome,
  ): Promise<void> => {
    endTrace(call.span, model, outcome)
    const { status, httpStatus } = outcome
    if (status === 'refused') {
      call.admission.refund()
      if (httpStatus !== undefined) countRefusal(call.exchange, model, httpStatus)
      Object.assign(call.answerHeaders, await answerHeaders(call.exchange))
    } else await write(call, { ...outcome, model, status, durationMs: now() - call.startedAt })
  }

  /**
   * Records an answer that was discarded after its tokens were generated; the request itself is
   * counted once, by the row of the model that answered.
   */
  const recordDiscarded = async (
    call: InferenceCall,
    { model, answer, durationMs }: DiscardedAnswer,
  ): Promise<void> => {
    const { cellId, usage, httpStatus } = answer
    call.kept.get(answer)?.recordEnd({ status: 'discarded', usage })
    if (httpStatus === 200)
      await write(call, { model, cellId, usage, status: 'discarded', durationMs })
  }

  return { record, recordDiscarded, countRefusal }
}
