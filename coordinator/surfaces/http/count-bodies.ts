import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { isCoded } from '../../../shared/decode-body.ts'
import type { Budgets } from '../../kernel/budgets/budgets.ts'
import { growBody } from './body-share.ts'

/**
 * Counts the bodies of Fastify's routes, for the key or the address of the request: the announced
 * length from the start, or the limit of the route for one without a length or with a coding. One that is reclaimed
 * loses its connection.
 */
export const countBodies = fp(
  async (app: FastifyInstance, { budget }: { budget: Budgets['requestBodies'] }) => {
    app.addHook('preParsing', (request, { raw: response }, payload, done) => {
      const { key, address } = request
      const holder = { key, address, response, bodyShare: undefined }
      const refusal = growBody(budget, holder, readAnnouncedBytes(request), () =>
        response.destroy(),
      )
      done(refusal, payload)
    })
  },
)

const readAnnouncedBytes = ({ headers, routeOptions }: FastifyRequest): number => {
  // a file is written to the disk as it comes
  if (routeOptions.config.operation?.upload !== undefined) return 0
  const isOpen = headers['transfer-encoding'] !== undefined || isCoded(headers)
  const limitBytes = routeOptions.bodyLimit ?? Number.POSITIVE_INFINITY
  return isOpen ? limitBytes : Math.min(limitBytes, Number(headers['content-length'] ?? 0))
}
