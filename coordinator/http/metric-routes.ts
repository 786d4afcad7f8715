import type { FastifyPluginAsync } from 'fastify'
import type { Registry } from 'prom-client'
import { requireAccess } from '../operations/invoke/access.ts'
import type { RouteDocs } from './route-docs.ts'

export interface MetricParts {
  registry: Pick<Registry, 'metrics' | 'contentType'>
}

const docs: RouteDocs = {
  id: 'metrics',
  tag: 'metrics',
  summary:
    'Return the metrics of the coordinator and its fleet in Prometheus text format. For operators.',
  answer: 'text',
}

/** `GET /metrics`, with the key of an operator. */
export const metricRoutes: FastifyPluginAsync<MetricParts> = async (app, { registry }) => {
  app.get('/metrics', { config: { docs } }, async (request, reply) => {
    requireAccess({ access: 'operator' }, request.key)
    return reply.type(registry.contentType).send(await registry.metrics())
  })
}
