import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Catalogue, CatalogueEntry } from '../../shared/catalogue.ts'
import { type ErrorCode, ShoalError } from '../../shared/errors.ts'
import { HEADER_CASCADE, HEADER_JUDGE } from '../../shared/wire/link.ts'
import { type Asked as AskedModel, cascade, type Discarded } from '../fleet/cascade.ts'
import {
  AUTO_MODEL,
  type CascadeConfig,
  type CascadeStep,
  cascadeSteps,
} from '../fleet/cascade-steps.ts'
import { type Dispatch, dispatch, type Ending } from '../fleet/dispatch.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Lanes } from '../fleet/lane.ts'
import type { Key } from '../keys/key.ts'
import type { Keys } from '../keys/keys.ts'
import type { InferenceFigures } from '../metrics/inference-figures.ts'
import type { Admission, Quota } from '../quota/quota.ts'
import { modelsOfTier } from '../quota/tier-models.ts'
import type { TierSettings } from '../quota/tiers.ts'
import { affinityOf } from './affinity.ts'
import { subjectOf } from './answer-headers.ts'
import { cutAnswer } from './cut-answer.ts'
import type { Exchange } from './exchange.ts'
import { bodyFor, type Call, linkHeaders, once } from './inference-call.ts'
import { createInferenceRecord, type InferenceRecordParts } from './inference-record.ts'
import { catalogueById, requireModel } from './model-access.ts'
import { traceInference } from './trace-inference.ts'

export interface InferenceParts extends InferenceRecordParts {
  answerHeaders: FastifyInstance['answerHeaders']
  catalogue: Catalogue
  tiers: TierSettings
  cascade: CascadeConfig
  fleet: Pick<Fleet, 'pick' | 'serves'>
  /** Ways to the cells on which requests may wait; without them `fleet` picks and nobody waits. */
  lanes?: Lanes | undefined
  /** See `affinityOf`. */
  affinityPrefixChars?: number
  quota: Pick<Quota, 'admit'>
  logger: Logger
  /** Answers under way, for a shutdown that waits for them. */
  running: { add(): void; remove(): void; draining(): boolean }
  figures: Pick<InferenceFigures, 'started'>
  /** Told of the code of every error that is answered here; not of those that are thrown. */
  failed?: ((code: ErrorCode) => void) | undefined
  /** Cuts an answer whose key has ended; without it answers go on to their end. */
  hold?: Keys['hold'] | undefined
}

/** What a request asks, once its body was found to be valid. */
export interface Asked {
  model: string
  stream: boolean
  /** False where the cascade has nothing to judge. */
  auto?: boolean
}

/** Tokens of a stream that are held back until it is judged. */
const JUDGED_TOKENS = 32

/**
 * The path all inference shares, behind authentication: the model must be of the tier, the quota
 * must have room, and a cell answers. The body goes to the cell as it came; only `auto` is
 * replaced by the model that is asked. Throws what the client is told when no cell was asked.
 */
export const createInference = (parts: InferenceParts) => {
  const { tiers, fleet, lanes, quota, logger, now, running, answerHeaders } = parts
  const { affinityPrefixChars = 0 } = parts
  const models = catalogueById(parts.catalogue)
  const { record, recordDiscarded } = createInferenceRecord(parts)

  const infer = async (
    exchange: Exchange,
    kind: CatalogueEntry['kind'],
    asked: Asked,
  ): Promise<void> => {
    const startedAt = now()
    const key = exchange.key as Key
    const mayCascade = kind === 'chat' && asked.auto !== false
    const steps = asked.model === AUTO_MODEL && mayCascade ? stepsOf(key) : []
    const isAuto = steps.length > 0
    if (!isAuto) requireModel(models, asked.model, kind, key.tier)
    if (running.draining())
      throw new ShoalError('draining', 'the coordinator is stopping', { retryAfterSeconds: 5 })
    const span = traceInference(exchange, asked.model)
    running.add()
    let admission: Admission | undefined
    let release: (() => void) | undefined
    try {
      const admitted = quota.admit(subjectOf(exchange), startedAt)
      admission = admitted instanceof Promise ? await admitted : admitted
      const headers = answerHeaders(exchange)
      const { stream } = asked
      const call: Call = {
        exchange,
        key,
        startedAt,
        admission,
        answerHeaders: headers instanceof Promise ? await headers : headers,
        body: isAuto ? bodyFor(exchange.body) : once(exchange.rawBody),
        affinity: affinityOf(exchange.body, affinityPrefixChars),
        stream,
        span,
        kept: new Map(),
      }
      release = parts.hold?.(key, {
        tenantId: exchange.tenantId,
        cut: error => {
          if (!exchange.response.writableEnded) parts.failed?.(error.code)
          cutAnswer(exchange.response, error, call.answerHeaders)
        },
      })
      // a stream may stay open for long: what it was asked need not stay in memory as well
      exchange.rawBody = EMPTY
      exchange.body = undefined
      try {
        await (isAuto ? askCascade(call, steps) : ask(call, asked.model))
      } catch (error) {
        giveUp(call, error)
      }
    } catch (error) {
      admission?.refund()
      span.end({}, error)
      throw error
    } finally {
      release?.()
      whenSent(exchange.response, running.remove)
    }
  }

  /** A failure of ours, maybe in the middle of an answer. */
  const giveUp = ({ exchange, admission, kept, span }: Call, error: unknown): void => {
    logger.error({ err: error, request: exchange.id }, 'dispatch failed')
    admission.refund()
    for (const watch of kept.values()) watch.ended({ status: 'discarded', usage: undefined })
    span.end({}, error)
    exchange.response.destroy()
  }

  const ask = async (call: Call, model: string, how: How = {}): Promise<Ending> => {
    const { exchange, key, affinity, span } = call
    const { headers, discarded, ...rest } = how
    const { tenantId, response, route } = exchange
    const lane = lanes?.({ model, keyId: key.id, tenantId, affinity })
    const watch = parts.figures.started(model)
    try {
      const ending = await dispatch({
        path: route,
        headers: linkHeaders(exchange.id, tiers[key.tier].max_tokens, span.headers, headers),
        body: call.body(model),
        response,
        answerHeaders: call.answerHeaders,
        stream: call.stream,
        pick: tried => watch.picked(tried.size, lane ? lane.pick(tried) : fleet.pick(model, tried)),
        lane,
        failed: parts.failed,
        record: async outcome => {
          watch.ended(outcome)
          for (const answer of discarded?.() ?? []) await recordDiscarded(call, answer)
          await record(call, model, outcome)
        },
        ...rest,
      })
      if (ending.kind === 'unavailable') watch.ended({ status: 'refused', usage: undefined })
      if (ending.kind === 'declined') call.kept.set(ending, watch)
      return ending
    } catch (error) {
      watch.ended({ status: 'failed', usage: undefined })
      throw error
    }
  }

  const stepsOf = ({ tier }: Key): CascadeStep[] =>
    cascadeSteps(modelsOfTier(parts.catalogue, tier), parts.cascade)

  const askCascade = (call: Call, steps: readonly CascadeStep[]): Promise<void> =>
    cascade({
      steps,
      ask: (model, { judge, ...how }) => {
        const headers = judge || !call.stream ? { [HEADER_JUDGE]: String(JUDGED_TOKENS) } : {}
        return ask(call, model, { ...how, headers })
      },
      serves: model => fleet.serves(model),
      trail: steps => {
        call.answerHeaders[HEADER_CASCADE] = steps.map(stepText).join(', ')
      },
      now,
    })

  return infer
}

/** An answer that was written is under way until its client has it, or has left. */
const whenSent = (response: ServerResponse, run: () => void): void => {
  if (response.closed) run()
  else response.once('close', run)
}

interface How extends Pick<Dispatch, 'accept' | 'quiet'> {
  headers?: OutgoingHttpHeaders
  discarded?: () => readonly Discarded[]
}

const stepText = ({ model, confidence }: AskedModel): string =>
  confidence === undefined ? model : `${model};confidence=${confidence.toFixed(3)}`

const EMPTY = Buffer.alloc(0)
