import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { AUTO_MODEL, type Catalogue, type CatalogueEntry } from '../../../shared/catalogue.ts'
import { type ErrorCode, httpStatus, ShoalError } from '../../../shared/errors.ts'
import { HEADER_CASCADE, HEADER_JUDGE } from '../../../shared/wire/link.ts'
import type { Keys } from '../../access/keys/keys.ts'
import type { Admission, Quota } from '../../access/quota/quota.ts'
import { modelsOfTier } from '../../access/quota/tier-models.ts'
import type { TierSettings } from '../../access/quota/tiers.ts'
import type { Fleet } from '../../fleet/cells/fleet.ts'
import { type AnswerMemory, requireKeyRoom } from '../../fleet/questions/answer-hold.ts'
import {
  type CascadeAttempt,
  cascade,
  type DiscardedAnswer,
} from '../../gateway/cascade/cascade.ts'
import {
  type CascadeConfig,
  type CascadeStep,
  cascadeSteps,
} from '../../gateway/cascade/cascade-steps.ts'
import type { ClientResponse } from '../../gateway/dispatch/client-response.ts'
import { dispatch } from '../../gateway/dispatch/dispatch.ts'
import type { Dispatch, DispatchResult } from '../../gateway/dispatch/dispatch-request.ts'
import type { RequestLanes } from '../../gateway/dispatch/lane.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import type { InferenceMetrics } from '../metrics/inference-metrics.ts'
import { affinityOf } from './affinity.ts'
import { subjectOf } from './answer-headers.ts'
import { cutAnswer } from './cut-answer.ts'
import type { HttpExchange } from './exchange.ts'
import { bodyFor, type InferenceCall, linkHeaders, once } from './inference-call.ts'
import { createInferenceRecord, type InferenceRecordParts } from './inference-record.ts'
import { requireModel } from './model-access.ts'
import { nameIgnored } from './take-body.ts'
import { traceInference } from './trace-inference.ts'

export interface InferenceParts extends InferenceRecordParts {
  answerHeaders: FastifyInstance['answerHeaders']
  catalogue: Catalogue
  tiers: TierSettings
  cascade: CascadeConfig
  fleet: Pick<Fleet, 'pick' | 'serves'>
  /** Queues in front of the cells; without them `fleet` picks and no request waits. */
  lanes?: RequestLanes | undefined
  /** See `affinityOf`. */
  affinityPrefixChars?: number
  quota: Pick<Quota, 'admit'>
  answerMemory: AnswerMemory
  logger: Logger
  /** Answers under way, for a shutdown that waits for them. */
  running: { add(): void; remove(): void; isDraining(): boolean }
  metrics: Pick<InferenceMetrics, 'watchRequest'>
  /** Receives the code of every error that is answered here; thrown errors are not included. */
  onError?: ((code: ErrorCode) => void) | undefined
  /** Registers an answer to be cut when its key ends; without it answers run to completion. */
  hold?: Keys['hold'] | undefined
}

/** The fields of a validated request body that routing needs. */
interface InferenceFields {
  model: string
  stream: boolean
  /** False where the cascade has nothing to judge. */
  auto?: boolean
}

/** Tokens of a stream that are buffered until the stream is judged. */
const JUDGED_TOKENS = 32

/**
 * The path that all inference shares, behind authentication: the tier must include the model, the
 * quota must have room, and a cell answers. The body reaches the cell unchanged, except that
 * `auto` is replaced by the chosen model.
 */
export class Inference {
  readonly #parts: InferenceParts
  readonly #recording: ReturnType<typeof createInferenceRecord>
  readonly #affinityPrefixChars: number

  constructor(parts: InferenceParts) {
    this.#parts = parts
    this.#recording = createInferenceRecord(parts)
    this.#affinityPrefixChars = parts.affinityPrefixChars ?? 0
  }

  /** Answers the exchange. Throws the client's error when no cell was asked. */
  infer(
    exchange: HttpExchange,
    kind: CatalogueEntry['kind'],
    asked: InferenceFields,
  ): Promise<void> {
    return this.#admit(exchange, kind, asked).catch(error => {
      const isKnown = asked.model === AUTO_MODEL || this.#isListed(asked.model)
      if (error instanceof ShoalError)
        this.#recording.countRefusal(exchange, isKnown ? asked.model : '', httpStatus(error.code))
      throw error
    })
  }

  #isListed(model: string): boolean {
    return this.#parts.catalogue.some(({ id }) => id === model)
  }

  async #admit(
    exchange: HttpExchange,
    kind: CatalogueEntry['kind'],
    asked: InferenceFields,
  ): Promise<void> {
    const { quota, running, answerHeaders, answerMemory, now, runtime } = this.#parts
    const startedAt = now()
    const startedMs = runtime.nowMs()
    const key = exchange.key as Key
    const mayCascade = kind === 'chat' && asked.auto !== false
    const steps = asked.model === AUTO_MODEL && mayCascade ? this.#stepsOf(key) : []
    if (steps.length === 0) requireModel(this.#parts.catalogue, asked.model, kind, key.tier)
    if (running.isDraining())
      throw new ShoalError('draining', 'the coordinator is stopping', { retryAfterSeconds: 5 })
    requireKeyRoom(answerMemory, key.id)
    const span = traceInference(exchange, asked.model)
    running.add()
    let admission: Admission | undefined
    let release: (() => void) | undefined
    try {
      const admitted = quota.admit(subjectOf(exchange), startedAt)
      admission = admitted instanceof Promise ? await admitted : admitted
      const headers = answerHeaders(exchange)
      const call: InferenceCall = {
        exchange,
        key,
        startedAt,
        startedMs,
        admission,
        answerHeaders: nameIgnored(
          headers instanceof Promise ? await headers : headers,
          exchange.ignored,
        ),
        body: steps.length > 0 ? bodyFor(exchange.body) : once(exchange.rawBody),
        affinity: affinityOf(exchange.body, this.#affinityPrefixChars),
        stream: asked.stream,
        span,
        kept: new Map(),
      }
      release = this.#cutWithKey(call)
      // a stream may stay open for long: its request need not stay in memory as well
      exchange.rawBody = EMPTY
      exchange.body = undefined
      await this.#answer(call, asked.model, steps)
    } catch (error) {
      admission?.refund()
      span.end({}, error)
      throw error
    } finally {
      release?.()
      runOnceSent(exchange.response, running.remove)
    }
  }

  /** Cuts the answer when its key ends, until the returned function is called. */
  #cutWithKey({ exchange, key, answerHeaders }: InferenceCall): (() => void) | undefined {
    const { hold, onError } = this.#parts
    return hold?.(key, {
      tenantId: exchange.tenantId,
      cut: error => {
        if (!exchange.response.writableEnded) onError?.(error.code)
        cutAnswer(exchange.response, error, answerHeaders)
      },
    })
  }

  async #answer(call: InferenceCall, model: string, steps: readonly CascadeStep[]): Promise<void> {
    try {
      await (steps.length > 0 ? this.#askCascade(call, steps) : this.#ask(call, model))
    } catch (error) {
      this.#giveUp(call, error)
    }
  }

  /** Ends a call after an internal failure, maybe in the middle of its answer. */
  #giveUp({ exchange, admission, kept, span }: InferenceCall, error: unknown): void {
    this.#parts.logger.error({ err: error, request: exchange.id }, 'dispatch failed')
    admission.refund()
    for (const watch of kept.values()) watch.recordEnd({ status: 'discarded', usage: undefined })
    span.end({}, error)
    exchange.response.destroy()
  }

  async #ask(call: InferenceCall, model: string, how: How = {}): Promise<DispatchResult> {
    const { tiers, fleet, lanes, metrics, answerMemory: memory, onError, runtime } = this.#parts
    const { exchange, key, affinity, span } = call
    const { headers, listDiscarded, ...rest } = how
    const { tenantId, response, route } = exchange
    const lane = lanes?.({ model, keyId: key.id, tenantId, affinity })
    const watch = metrics.watchRequest(model)
    try {
      const ending = await dispatch({
        path: route,
        model,
        headers: linkHeaders(exchange.id, tiers[key.tier].max_tokens, span.headers, headers),
        body: call.body(model),
        bodyShare: exchange.bodyShare,
        response,
        answerHeaders: call.answerHeaders,
        stream: call.stream,
        memory,
        keyId: key.id,
        pick: tried =>
          watch.recordPick(tried.size, lane ? lane.pick(tried) : fleet.pick(model, tried)),
        lane,
        onError,
        runtime,
        record: async outcome => {
          watch.recordEnd(outcome)
          for (const answer of listDiscarded?.() ?? [])
            await this.#recording.recordDiscarded(call, answer)
          await this.#recording.record(call, model, outcome)
        },
        ...rest,
      })
      if (ending.kind === 'unavailable') watch.recordEnd({ status: 'refused', usage: undefined })
      if (ending.kind === 'declined') call.kept.set(ending, watch)
      return ending
    } catch (error) {
      watch.recordEnd({ status: 'failed', usage: undefined })
      throw error
    }
  }

  #stepsOf({ tier }: Key): CascadeStep[] {
    const { catalogue, cascade } = this.#parts
    return cascadeSteps(modelsOfTier(catalogue, tier), cascade)
  }

  #askCascade(call: InferenceCall, steps: readonly CascadeStep[]): Promise<void> {
    const { fleet, now } = this.#parts
    return cascade({
      steps,
      ask: (model, { judge, ...how }) => {
        const headers = judge || !call.stream ? { [HEADER_JUDGE]: String(JUDGED_TOKENS) } : {}
        return this.#ask(call, model, { ...how, headers })
      },
      serves: model => fleet.serves(model),
      trail: steps => {
        call.answerHeaders[HEADER_CASCADE] = steps.map(stepText).join(', ')
      },
      now,
    })
  }
}

/** Calls `run` once the client has the whole answer, or has disconnected. */
const runOnceSent = (response: ClientResponse, run: () => void): void => {
  if (response.closed) run()
  else response.on('close', run)
}

interface How extends Pick<Dispatch, 'accept' | 'quiet'> {
  headers?: OutgoingHttpHeaders
  listDiscarded?: () => readonly DiscardedAnswer[]
}

const stepText = ({ model, confidence }: CascadeAttempt): string =>
  confidence === undefined ? model : `${model};confidence=${confidence.toFixed(3)}`

const EMPTY = Buffer.alloc(0)
