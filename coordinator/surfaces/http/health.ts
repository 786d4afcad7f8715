import type { FastifyPluginAsync } from 'fastify'
import * as z from 'zod'
import type { Catalogue } from '../../../shared/catalogue.ts'
import type { ShoalError } from '../../../shared/errors.ts'
import { systemRuntime } from '../../../shared/runtime.ts'
import { isRoutable } from '../../fleet/cells/cell.ts'
import { type Fleet, readyModels } from '../../fleet/cells/fleet.ts'
import { listPromisedModels } from '../../fleet/cells/promised-models.ts'

export interface HealthParts {
  catalogue: Catalogue
  fleet: Pick<Fleet, 'cells' | 'serves' | 'roundTripsMs'>
  /** Undefined while everything is fine, else why no request should come here. */
  findReadinessFault: () => ShoalError | undefined
  /** True when over half of the fleet was lost at once. */
  isDegraded?: (() => boolean) | undefined
}

/** Body of `GET /v1/health` (interface specification 2.6). */
const Health = z.object({
  status: z.enum(['ok', 'degraded', 'unavailable']),
  cells: z.int().describe('Cells that serve requests now.'),
  models: z.int().describe('Models that are loaded on at least one of them.'),
  latency_ms: z
    .int()
    .describe('Median round-trip time to those cells, rounded up; 0 only without cells.'),
})
export type Health = z.infer<typeof Health>

type HealthSources = Omit<HealthParts, 'findReadinessFault'>

/** Health of the service; looking at ten thousand cells for every reader would be dear. */
export const createHealthReader = (parts: HealthSources): (() => Health) =>
  cacheFor(HEALTH_MS, () => healthOf(parts))

const healthOf = ({ catalogue, fleet, isDegraded }: HealthSources): Health => {
  const models = listPromisedModels(catalogue, fleet)
  const isAnyServed = models.some(({ served }) => served)
  const isImpaired = models.some(({ served }) => !served) || isDegraded?.() === true
  const trips = fleet.roundTripsMs()
  return {
    status: isAnyServed ? (isImpaired ? 'degraded' : 'ok') : 'unavailable',
    cells: [...fleet.cells()].filter(isRoutable).length,
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

const Fine = z.object({ status: z.literal('ok') })

/** Health for clients, liveness for supervisors, readiness for balancers. None needs a key. */
export const healthRoutes: FastifyPluginAsync<HealthParts> = async (app, parts) => {
  const open = (id: string, summary: string, answer: z.ZodType, isForSupervisors = true) => ({
    config: {
      access: 'none' as const,
      ignoresHost: isForSupervisors,
      isUncounted: isForSupervisors,
      docs: { id, tag: 'health', summary, answer },
    },
  })
  const health = open('health', 'Health of the service.', Health, false)
  const alive = open('alive', 'Liveness of the process, for supervisors.', Fine)
  const ready = open('ready', 'Readiness for requests, for load balancers.', Fine)
  const current = createHealthReader(parts)
  app.get('/v1/health', health, async () => current())
  app.get('/healthz', alive, async () => ({ status: 'ok' }))
  app.get('/readyz', ready, async () => {
    const reason = parts.findReadinessFault()
    if (reason !== undefined) throw reason
    return { status: 'ok' }
  })
}

/** Anybody may ask as often as they like. */
const HEALTH_MS = 100

const cacheFor = <T>(milliseconds: number, make: () => T): (() => T) => {
  let last: { at: number; value: T } | undefined
  return () => {
    const at = systemRuntime.nowMs()
    if (last === undefined || at - last.at > milliseconds) last = { at, value: make() }
    return last.value
  }
}
