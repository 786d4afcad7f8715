import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Logger } from 'pino'
import { VERSION } from '../../../shared/version.ts'
import { HEADER_REQUEST_ID } from '../../../shared/wire/link.ts'
import type { Quota, QuotaStatus, QuotaSubject } from '../../access/quota/quota.ts'
import type { TaskCaller } from '../../kernel/declaration/context.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { CorsPolicy } from './cors.ts'
import { networkOf } from './trusted-proxies.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Headers of every answer at this moment; for answers that bypass the hooks. */
    answerHeaders(asker: RequestOrigin): OutgoingHttpHeaders | Promise<OutgoingHttpHeaders>
  }
}

interface AnswerHeaderParts {
  quota: Pick<Quota, 'standing'>
  /** Unix time, milliseconds. */
  now: () => number
  logger: Pick<Logger, 'warn'>
  /** The coordinators behind one address; by default there is only this one. */
  replicas?: Pick<Replicas, 'id' | 'live'> | undefined
  cors: Pick<CorsPolicy, 'headers'>
}

/** Subject whose allowance a request uses: its key, or its address without a valid key. */
export const subjectOf = (asker: Pick<RequestOrigin, 'address' | 'key'>): QuotaSubject =>
  asker.key === undefined
    ? { id: `address:${networkOf(asker.address)}`, tier: 'anonymous' }
    : { id: asker.key.id, tier: asker.key.tier }

/** The caller of a request, as operations know it. */
export const taskCallerOf = ({ key, tenantId, id, address }: FastifyRequest): TaskCaller => ({
  key,
  tenantId,
  requestId: id,
  address: networkOf(address),
})

/**
 * The four headers of the interface specification (section 8) and the fields of
 * draft-ietf-httpapi-ratelimit-headers-10. Unlimited is the word `unlimited`.
 */
const limitHeaders = (standing: QuotaStatus, nowMs: number): OutgoingHttpHeaders => {
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

/** Source of the headers: a request, or a socket that sent no complete one. */
interface RequestOrigin {
  id: string
  address: string
  key: Key | undefined
  /** Headers of the request, for a browser's origin. */
  headers?: IncomingHttpHeaders
}

/** Sets the headers of every answer; a `vary` of the route is kept. */
const setHeaders = (reply: FastifyReply, headers: OutgoingHttpHeaders): void => {
  const own = reply.getHeader('vary')
  const { vary } = headers
  const both = own !== undefined && vary !== undefined ? { vary: `${own}, ${vary}` } : {}
  reply.headers({ ...headers, ...both })
}

/** Puts limits, request id, version and, of several, the coordinator on every answer, errors included. */
export const answerHeaders = fp(
  async (app: FastifyInstance, { quota, now, logger, replicas, cors }: AnswerHeaderParts) => {
    /** Headers without the quota when the store cannot tell: such an answer is better than none. */
    const omitLimits = (error: unknown): OutgoingHttpHeaders => {
      logger.warn({ err: error }, 'the limits of the caller are unknown')
      return {}
    }
    const limits = (asker: RequestOrigin): OutgoingHttpHeaders | Promise<OutgoingHttpHeaders> => {
      try {
        const nowMs = now()
        const standing = quota.standing(subjectOf(asker), nowMs)
        if (!(standing instanceof Promise)) return limitHeaders(standing, nowMs)
        return standing.then(found => limitHeaders(found, nowMs)).catch(omitLimits)
      } catch (error) {
        return omitLimits(error)
      }
    }
    const completeHeaders = (
      asker: RequestOrigin,
      headers: OutgoingHttpHeaders,
    ): OutgoingHttpHeaders => {
      headers[HEADER_REQUEST_ID] = asker.id
      headers['x-shoal-version'] = VERSION
      if (replicas !== undefined && replicas.live().length > 1)
        headers['x-shoal-replica'] = replicas.id
      headers['x-content-type-options'] = 'nosniff'
      return Object.assign(headers, cors.headers(asker.headers))
    }
    /** Synchronous once the caller was seen: this is on every request's path. */
    const current = (asker: RequestOrigin): OutgoingHttpHeaders | Promise<OutgoingHttpHeaders> => {
      const found = limits(asker)
      return found instanceof Promise
        ? found.then(headers => completeHeaders(asker, headers))
        : completeHeaders(asker, found)
    }
    app.decorate('answerHeaders', current)
    app.addHook('onSend', (request, reply, _payload, done) => {
      const found = current(request)
      if (found instanceof Promise)
        found.then(headers => setHeaders(reply, headers)).then(() => done(), done)
      else {
        setHeaders(reply, found)
        done()
      }
    })
  },
)
