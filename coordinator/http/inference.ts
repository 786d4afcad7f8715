import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Catalogue, CatalogueEntry } from '../../shared/catalogue.ts'
import { ShoalError } from '../../shared/errors.ts'
import type { InferenceSpan } from '../../shared/tracing/inference-span.ts'
import {
  HEADER_CASCADE,
  HEADER_JUDGE,
  HEADER_MAX_TOKENS,
  HEADER_REQUEST_ID,
} from '../../shared/wire/link.ts'
import { type Asked as AskedModel, cascade, type Discarded } from '../fleet/cascade.ts'
import {
  AUTO_MODEL,
  type CascadeConfig,
  type CascadeStep,
  cascadeSteps,
} from '../fleet/cascade-steps.ts'
import {
  type Declined,
  type Dispatch,
  dispatch,
  type Ending,
  type Outcome,
} from '../fleet/dispatch.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Lanes } from '../fleet/lane.ts'
import type { Key } from '../keys/key.ts'
import type { InferenceFigures, RoutingWatch } from '../metrics/inference-figures.ts'
import type { Admission, Quota } from '../quota/quota.ts'
import type { TierSettings } from '../quota/tiers.ts'
import type { NewUsage, Usage } from '../quota/usage.ts'
import { affinityOf } from './affinity.ts'
import { subjectOf } from './answer-headers.ts'
import { keyOf } from './auth.ts'
import { catalogueById, modelsOfTier, requireModel } from './model-access.ts'
import { endTrace, traceInference } from './trace-inference.ts'

export interface InferenceParts {
  catalogue: Catalogue
  tiers: TierSettings
  cascade: CascadeConfig
  fleet: Pick<Fleet, 'pick' | 'serves'>
  /** Ways to the cells on which requests may wait; without them `fleet` picks and nobody waits. */
  lanes?: Lanes | undefined
  /** See `affinityOf`. */
  affinityPrefixChars?: number
  quota: Pick<Quota, 'admit'>
  usage: Pick<Usage, 'record'>
  logger: Logger
  /** Unix time, milliseconds. */
  now: () => number
  /** Answers under way, for a shutdown that waits for them. */
  running: { add(): void; remove(): void; draining(): boolean }
  figures: Pick<InferenceFigures, 'started'>
}

/** What a request asks, once its body was found to be valid. */
export interface Asked {
  model: string
  stream: boolean
  /** False where the cascade has nothing to judge. */
  auto?: boolean
}

/**
 * The path all inference shares, behind authentication: the model must be of the tier, the quota
 * must have room, and a cell answers. The body goes to the cell as it came; only `auto` is
 * replaced by the model that is asked.
 */
export const createInference = (app: FastifyInstance, parts: InferenceParts) => {
  const { tiers, fleet, lanes, quota, usage, logger, now, running } = parts
  const { affinityPrefixChars = 0 } = parts
  const models = catalogueById(parts.catalogue)

  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    kind: CatalogueEntry['kind'],
    asked: Asked,
  ): Promise<void> => {
    const startedAt = now()
    const key = keyOf(request)
    const mayCascade = kind === 'chat' && asked.auto !== false
    const steps = asked.model === AUTO_MODEL && mayCascade ? stepsOf(key) : []
    const isAuto = steps.length > 0
    if (!isAuto) requireModel(models, asked.model, kind, key.tier)
    if (running.draining())
      throw new ShoalError('draining', 'the coordinator is stopping', { retryAfterSeconds: 5 })
    const span = traceInference(request, { id: asked.model })
    running.add()
    let admission: Admission | undefined
    try {
      admission = await quota.admit(subjectOf(request), startedAt)
      const answerHeaders = await app.answerHeaders(request)
      const body = isAuto ? bodyFor(request.body) : once(request.rawBody ?? EMPTY)
      const affinity = affinityOf(request.body, affinityPrefixChars)
      // a stream may stay open for long: what it was asked need not stay in memory as well
      request.rawBody = undefined
      request.body = undefined
      reply.hijack()
      const call: Call = {
        request,
        key,
        startedAt,
        admission,
        answerHeaders,
        body,
        affinity,
        span,
        kept: new Map(),
        response: reply.raw,
        stream: asked.stream,
      }
      await (isAuto ? askCascade(call, steps) : ask(call, asked.model)).catch((error: unknown) => {
        logger.error({ err: error, request: request.id }, 'dispatch failed')
        call.admission.refund()
        for (const watch of call.kept.values())
          watch.ended({ status: 'discarded', usage: undefined })
        span.end({}, error)
        reply.raw.destroy()
      })
    } catch (error) {
      admission?.refund()
      span.end({}, error)
      throw error
    } finally {
      running.remove()
    }
  }

  async function ask(call: Call, model: string, how: How = {}): Promise<Ending> {
    const { request, key, answerHeaders, affinity, response, stream, span } = call
    const { headers, discarded = () => [], ...rest } = how
    const lane = lanes?.({ model, keyId: key.id, tenantId: request.tenantId, affinity })
    const watch = parts.figures.started(model)
    const find = (tried: ReadonlySet<string>) =>
      lane ? lane.pick(tried) : fleet.pick(model, tried)
    const ending = await dispatch({
      path: request.routeOptions.url ?? '',
      headers: {
        ...linkHeaders(request, tiers[key.tier].max_tokens),
        ...span.headers,
        ...headers,
      },
      body: call.body(model),
      response,
      answerHeaders,
      stream,
      pick: tried => watch.picked(tried.size, find(tried)),
      lane,
      record: async outcome => {
        watch.ended(outcome)
        for (const answer of discarded()) await recordDiscarded(call, answer)
        await record(call, model, outcome)
      },
      ...rest,
    }).catch((error: unknown) => {
      watch.ended({ status: 'failed', usage: undefined })
      throw error
    })
    if (ending.kind === 'unavailable') watch.ended({ status: 'refused', usage: undefined })
    if (ending.kind === 'declined') call.kept.set(ending, watch)
    return ending
  }

  function stepsOf({ tier }: Key): CascadeStep[] {
    return cascadeSteps(modelsOfTier(parts.catalogue, tier), parts.cascade)
  }

  function askCascade(call: Call, steps: readonly CascadeStep[]): Promise<void> {
    const { answerHeaders, stream } = call
    return cascade({
      steps,
      ask: (model, { judge, ...how }) => {
        const headers = judge || !stream ? { [HEADER_JUDGE]: String(JUDGED_TOKENS) } : {}
        return ask(call, model, { ...how, headers })
      },
      serves: fleet.serves,
      trail: steps => {
        answerHeaders[HEADER_CASCADE] = steps.map(stepText).join(', ')
      },
      now,
    })
  }

  /** Its tokens were made; the request is counted once, by the row of the model that answered. */
  async function recordDiscarded(call: Call, { model, answer, durationMs }: Discarded) {
    const { cellId, usage } = answer
    call.kept.get(answer)?.ended({ status: 'discarded', usage })
    if (answer.httpStatus === 200)
      await write(call, { model, cellId, usage, status: 'discarded', durationMs })
  }

  /** A request no cell took costs nothing, and the headers say so; any other leaves a row. */
  async function record(call: Call, model: string, outcome: Outcome): Promise<void> {
    const { request, startedAt, admission, answerHeaders, span } = call
    endTrace(span, model, outcome)
    if (outcome.status === 'refused') {
      admission.refund()
      Object.assign(answerHeaders, await app.answerHeaders(request))
      return
    }
    const { status, cellId, usage } = outcome
    await write(call, { model, status, cellId, usage, durationMs: now() - startedAt })
  }

  async function write(call: Call, used: Used): Promise<void> {
    const { request, key, startedAt } = call
    const row = {
      at: startedAt,
      key_id: key.id,
      tenant_id: request.tenantId ?? key.tenantId,
      model: used.model,
      cell_id: used.cellId ?? '',
      route: request.routeOptions.url ?? '',
      status: used.status,
      prompt_tokens: used.usage?.prompt_tokens ?? null,
      completion_tokens: used.usage?.completion_tokens ?? null,
      cached_tokens: used.usage?.prompt_tokens_details?.cached_tokens ?? null,
      // a clock that was set back meanwhile must not cost the row
      duration_ms: Math.max(0, used.durationMs),
      request_id: request.id,
    }
    await usage.record(row).catch(error => logger.error({ err: error, row }, 'usage not recorded'))
  }
}

interface Call {
  request: FastifyRequest
  key: Key
  startedAt: number
  admission: Admission
  answerHeaders: OutgoingHttpHeaders
  /** The body for a model. */
  body: (model: string) => Buffer
  affinity: number | undefined
  response: ServerResponse
  stream: boolean
  span: InferenceSpan
  /** Of the answers that may still be given or discarded. */
  kept: Map<Declined, RoutingWatch>
}

interface How extends Pick<Dispatch, 'accept' | 'quiet'> {
  headers?: OutgoingHttpHeaders
  discarded?: () => readonly Discarded[]
}

interface Used extends Pick<Outcome, 'cellId' | 'usage'> {
  model: string
  status: NewUsage['status']
  durationMs: number
}

/** Tokens of a stream that are held back until it is judged. */
const JUDGED_TOKENS = 32

const stepText = ({ model, confidence }: AskedModel): string =>
  confidence === undefined ? model : `${model};confidence=${confidence.toFixed(3)}`

const EMPTY = Buffer.alloc(0)

/** The bytes, for the one time that they are asked for; then they can leave the memory. */
const once = (bytes: Buffer): Call['body'] => {
  let held = bytes
  return () => {
    const given = held
    held = EMPTY
    return given
  }
}

const bodyFor =
  (body: unknown): Call['body'] =>
  model =>
    Buffer.from(JSON.stringify({ ...(body as object), model }))

const linkHeaders = (request: FastifyRequest, maxTokens: number): OutgoingHttpHeaders => ({
  'content-type': 'application/json',
  [HEADER_REQUEST_ID]: request.id,
  [HEADER_MAX_TOKENS]: String(maxTokens),
})
