import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { VERSION } from '../../shared/version.ts'
import { HEADER_REQUEST_ID } from '../../shared/wire/link.ts'
import type { Quota, Standing, Subject } from '../quota/quota.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** What every answer carries, as of now; for answers that bypass the hooks. */
    answerHeaders(request: FastifyRequest): Promise<OutgoingHttpHeaders>
  }
}

export interface AnswerHeaderParts {
  quota: Pick<Quota, 'standing'>
  /** Unix time, milliseconds. */
  now: () => number
}

/** Whose allowance a request uses: its key, or its address without a valid one. */
export const subjectOf = (request: FastifyRequest): Subject =>
  request.key === undefined
    ? { id: `address:${request.ip}`, tier: 'anonymous' }
    : { id: request.key.id, tier: request.key.tier }

/**
 * The four headers of the interface specification (section 8) and the fields of
 * draft-ietf-httpapi-ratelimit-headers-10. Unlimited is the word `unlimited`.
 */
export const limitHeaders = (standing: Standing, nowMs: number): OutgoingHttpHeaders => {
  const { limit, remaining, resetSeconds, burst, minuteLimit } = standing
  const untilReset = Math.max(0, resetSeconds - Math.floor(nowMs / 1000))
  const month =
    limit === 'unlimited'
      ? { policy: '', state: '' }
      : {
          policy: `, "month";q=${limit}`,
          state: `, "month";r=${remaining};t=${untilReset}`,
        }
  return {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(resetSeconds),
    'x-ratelimit-burst': String(burst),
    'ratelimit-policy': `"minute";q=${minuteLimit};w=60${month.policy}`,
    ratelimit: `"minute";r=${burst}${month.state}`,
  }
}

/** Puts limits, request id and version on every answer, errors included. */
export const answerHeaders = fp(async (app: FastifyInstance, { quota, now }: AnswerHeaderParts) => {
  const current = async (request: FastifyRequest): Promise<OutgoingHttpHeaders> => {
    const nowMs = now()
    const standing = quota.standing(subjectOf(request), nowMs)
    return {
      ...limitHeaders(standing instanceof Promise ? await standing : standing, nowMs),
      [HEADER_REQUEST_ID]: request.id,
      'x-shoal-version': VERSION,
      'x-content-type-options': 'nosniff',
    }
  }
  app.decorate('answerHeaders', current)
  app.addHook('onSend', async (request, reply) => {
    reply.headers(await current(request))
  })
})
