import type { FastifyPluginAsync } from 'fastify'
import type { Registry } from 'prom-client'
import { requireAccess } from '../operations/call.ts'
import type { RouteDocs } from './route-docs.ts'

export interface MetricParts {
  registry: Pick<Registry, 'metrics' | 'contentType'>
  /** The metrics of a cell, asked over its link. */
  cellMetrics: (cellId: string, signal: AbortSignal) => Promise<string>
}

const OWN: RouteDocs = {
  id: 'metrics',
  tag: 'metrics',
  summary: 'What the coordinator and its fleet did, in the words of Prometheus. For operators.',
  answer: 'text',
}
const OF_CELL: RouteDocs = {
  id: 'cell-metrics',
  tag: 'metrics',
  summary: 'What a cell and its engines did, in the words of Prometheus. For operators.',
  answer: 'text',
}

const LONGEST_MS = 10_000

/** `GET /metrics` and `GET /v1/cells/{cell_id}/metrics`, with the key of an operator. */
export const metricRoutes: FastifyPluginAsync<MetricParts> = async (
  app,
  { registry, cellMetrics },
) => {
  app.get('/metrics', { config: { docs: OWN } }, async (request, reply) => {
    requireAccess({ access: 'operator' }, request.key)
    return reply.type(registry.contentType).send(await registry.metrics())
  })

  const docs = { config: { docs: OF_CELL } }
  app.get<{ Params: { cell_id: string } }>(
    '/v1/cells/:cell_id/metrics',
    docs,
    async (request, reply) => {
      requireAccess({ access: 'operator' }, request.key)
      const text = await cellMetrics(request.params.cell_id, AbortSignal.timeout(LONGEST_MS))
      return reply.type(registry.contentType).send(text)
    },
  )
}
