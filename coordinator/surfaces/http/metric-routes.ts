import type { FastifyPluginAsync } from 'fastify'
import type { Registry } from 'prom-client'
import type { Pipeline } from '../../calls/invoke/invoke.ts'
import { taskCallerOf } from './answer-headers.ts'
import type { RouteDocs } from './route-docs.ts'

interface MetricParts {
  registry: Pick<Registry, 'metrics' | 'contentType'>
  authorize: Pipeline['authorize']
}

const docs: RouteDocs = {
  id: 'metrics',
  tag: 'metrics',
  summary:
    'Return the metrics of the coordinator and its fleet in Prometheus text format. For operators.',
  answer: 'text',
}

/** `GET /metrics`, with the key of an operator. */
export const metricRoutes: FastifyPluginAsync<MetricParts> = async (
  app,
  { registry, authorize },
) => {
  app.get('/metrics', { config: { docs } }, async (request, reply) => {
    authorize({ access: 'operator' }, taskCallerOf(request))
    return reply.type(registry.contentType).send(await registry.metrics())
  })
}
