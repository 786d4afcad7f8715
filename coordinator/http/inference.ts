import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Catalogue, CatalogueEntry } from '../../shared/catalogue.ts'
import { ShoalError } from '../../shared/errors.ts'
import type { InferenceSpan } from '../../shared/tracing/inference-span.ts'
import { HEADER_MAX_TOKENS, HEADER_REQUEST_ID } from '../../shared/wire/link.ts'
import { dispatch, type Outcome } from '../fleet/dispatch.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Key } from '../keys/key.ts'
import type { InferenceFigures, RoutingWatch } from '../metrics/inference-figures.ts'
import type { Admission, Quota } from '../quota/quota.ts'
import type { TierSettings } from '../quota/tiers.ts'
import type { Usage } from '../quota/usage.ts'
import { subjectOf } from './answer-headers.ts'
import { keyOf } from './auth.ts'
import { catalogueById, requireModel } from './model-access.ts'
import { endTrace, traceInference } from './trace-inference.ts'

export interface InferenceParts {
  catalogue: Catalogue
  tiers: TierSettings
  fleet: Pick<Fleet, 'pick'>
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
}

/**
 * The path all inference shares, behind authentication: the model must be of the tier, the quota
 * must have room, and a cell answers. The body goes to the cell as it came.
 */
export const createInference = (app: FastifyInstance, parts: InferenceParts) => {
  const { tiers, fleet, quota, usage, logger, now, running } = parts
  const models = catalogueById(parts.catalogue)

  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    kind: CatalogueEntry['kind'],
    asked: Asked,
  ): Promise<void> => {
    const startedAt = now()
    const key = keyOf(request)
    const entry = requireModel(models, asked.model, kind, key.tier)
    const model = entry.id
    if (running.draining())
      throw new ShoalError('draining', 'the coordinator is stopping', { retryAfterSeconds: 5 })
    running.add()
    const span = traceInference(request, entry)
    try {
      const admission = await quota.admit(subjectOf(request), startedAt)
      const answerHeaders = await app.answerHeaders(request)
      const body = request.rawBody ?? EMPTY
      // a stream may stay open for long: what it was asked need not stay in memory as well
      request.rawBody = undefined
      request.body = undefined
      reply.hijack()
      const watch = parts.figures.started(model)
      await dispatch({
        path: request.routeOptions.url ?? '',
        headers: { ...linkHeaders(request, tiers[key.tier].max_tokens), ...span.headers },
        body,
        response: reply.raw,
        answerHeaders,
        stream: asked.stream,
        pick: tried => watch.picked(tried.size, fleet.pick(model, tried)),
        record: outcome =>
          record(
            { request, key, model, startedAt, admission, answerHeaders, watch, span },
            outcome,
          ),
      }).catch((error: unknown) => {
        logger.error({ err: error, request: request.id }, 'dispatch failed')
        admission.refund()
        watch.ended({ status: 'failed', usage: undefined })
        span.end({}, error)
        reply.raw.destroy()
      })
    } catch (error) {
      span.end({}, error)
      throw error
    } finally {
      running.remove()
    }
  }

  /** A request no cell took costs nothing, and the headers say so; any other leaves a row. */
  async function record(call: Call, outcome: Outcome): Promise<void> {
    const { request, key, model, startedAt, admission, answerHeaders, watch, span } = call
    watch.ended(outcome)
    endTrace(span, model, outcome)
    if (outcome.status === 'refused') {
      admission.refund()
      Object.assign(answerHeaders, await app.answerHeaders(request))
      return
    }
    const row = {
      at: startedAt,
      key_id: key.id,
      tenant_id: request.tenantId ?? key.tenantId,
      model,
      cell_id: outcome.cellId ?? '',
      route: request.routeOptions.url ?? '',
      status: outcome.status,
      prompt_tokens: outcome.usage?.prompt_tokens ?? null,
      completion_tokens: outcome.usage?.completion_tokens ?? null,
      cached_tokens: outcome.usage?.prompt_tokens_details?.cached_tokens ?? null,
      duration_ms: now() - startedAt,
      request_id: request.id,
    }
    await usage.record(row).catch(error => logger.error({ err: error, row }, 'usage not recorded'))
  }
}

interface Call {
  request: FastifyRequest
  key: Key
  model: string
  startedAt: number
  admission: Admission
  answerHeaders: OutgoingHttpHeaders
  watch: RoutingWatch
  span: InferenceSpan
}

const EMPTY = Buffer.alloc(0)

const linkHeaders = (request: FastifyRequest, maxTokens: number): OutgoingHttpHeaders => ({
  'content-type': 'application/json',
  [HEADER_REQUEST_ID]: request.id,
  [HEADER_MAX_TOKENS]: String(maxTokens),
})
