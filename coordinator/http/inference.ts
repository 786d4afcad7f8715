import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Catalogue, CatalogueEntry } from '../../shared/catalogue.ts'
import { ShoalError } from '../../shared/errors.ts'
import { HEADER_MAX_TOKENS, HEADER_REQUEST_ID } from '../../shared/wire/link.ts'
import { dispatch, type Outcome } from '../fleet/dispatch.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Lanes } from '../fleet/lane.ts'
import type { Key } from '../keys/key.ts'
import type { Admission, Quota } from '../quota/quota.ts'
import type { TierSettings } from '../quota/tiers.ts'
import type { Usage } from '../quota/usage.ts'
import { affinityOf } from './affinity.ts'
import { subjectOf } from './answer-headers.ts'
import { keyOf } from './auth.ts'
import { catalogueById, requireModel } from './model-access.ts'

export interface InferenceParts {
  catalogue: Catalogue
  tiers: TierSettings
  fleet: Pick<Fleet, 'pick'>
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
    const { id: model } = requireModel(models, asked.model, kind, key.tier)
    if (running.draining())
      throw new ShoalError('draining', 'the coordinator is stopping', { retryAfterSeconds: 5 })
    running.add()
    try {
      const admission = await quota.admit(subjectOf(request), startedAt)
      const answerHeaders = await app.answerHeaders(request)
      const body = request.rawBody ?? EMPTY
      const lane = lanes?.({
        model,
        keyId: key.id,
        tenantId: request.tenantId,
        affinity: affinityOf(request.body, affinityPrefixChars),
      })
      // a stream may stay open for long: what it was asked need not stay in memory as well
      request.rawBody = undefined
      request.body = undefined
      reply.hijack()
      await dispatch({
        path: request.routeOptions.url ?? '',
        headers: linkHeaders(request, tiers[key.tier].max_tokens),
        body,
        response: reply.raw,
        answerHeaders,
        stream: asked.stream,
        pick: tried => lane?.pick(tried) ?? (lane ? undefined : fleet.pick(model, tried)),
        lane,
        record: outcome =>
          record({ request, key, model, startedAt, admission, answerHeaders }, outcome),
      }).catch((error: unknown) => {
        logger.error({ err: error, request: request.id }, 'dispatch failed')
        admission.refund()
        reply.raw.destroy()
      })
    } finally {
      running.remove()
    }
  }

  /** A request no cell took costs nothing, and the headers say so; any other leaves a row. */
  async function record(call: Call, outcome: Outcome): Promise<void> {
    const { request, key, model, startedAt, admission, answerHeaders } = call
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
}

const EMPTY = Buffer.alloc(0)

const linkHeaders = (request: FastifyRequest, maxTokens: number): OutgoingHttpHeaders => {
  const headers: OutgoingHttpHeaders = {
    'content-type': 'application/json',
    [HEADER_REQUEST_ID]: request.id,
    [HEADER_MAX_TOKENS]: String(maxTokens),
  }
  const { traceparent } = request.headers
  if (typeof traceparent === 'string') headers.traceparent = traceparent
  return headers
}
