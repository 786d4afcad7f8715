import type { FastifyPluginAsync } from 'fastify'
import type { Catalogue } from '../../shared/catalogue.ts'
import { ShoalError } from '../../shared/errors.ts'
import { type Fleet, readyModels } from '../fleet/fleet.ts'

export interface HealthParts {
  catalogue: Catalogue
  fleet: Pick<Fleet, 'cells' | 'serves' | 'roundTripsMs'>
  /** Undefined while everything is fine, else the reason why no request should come here. */
  notReady: () => string | undefined
}

/** Body of `GET /v1/health` (interface specification 2.6). */
export interface Health {
  status: 'ok' | 'degraded' | 'unavailable'
  /** Cells that serve now. */
  cells: number
  /** Models that are loaded on one of them. */
  models: number
  /** Median round trip to those cells, rounded up; 0 only with no cell. */
  latency_ms: number
}

export const healthOf = (catalogue: Catalogue, fleet: HealthParts['fleet']): Health => {
  const served = catalogue.filter(entry => fleet.serves(entry.id)).length
  const trips = fleet.roundTripsMs()
  return {
    status: served === 0 ? 'unavailable' : served < catalogue.length ? 'degraded' : 'ok',
    cells: [...fleet.cells()].filter(cell => cell.presence === 'ready' && cell.link).length,
    models: readyModels(fleet.cells()).size,
    latency_ms: trips.length === 0 ? 0 : Math.max(1, Math.ceil(median(trips))),
  }
}

const median = (values: number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return sorted.length % 2 === 1
    ? (sorted[Math.floor(middle)] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
}

/** Health for clients, liveness for supervisors, readiness for balancers. None needs a key. */
export const healthRoutes: FastifyPluginAsync<HealthParts> = async (app, parts) => {
  const config = { access: 'none' } as const
  app.get('/v1/health', { config }, async () => healthOf(parts.catalogue, parts.fleet))
  app.get('/healthz', { config }, async () => ({ status: 'ok' }))
  app.get('/readyz', { config }, async () => {
    const reason = parts.notReady()
    if (reason !== undefined) throw new ShoalError('draining', reason, { retryAfterSeconds: 5 })
    return { status: 'ok' }
  })
}
