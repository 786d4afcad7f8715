import * as z from 'zod'
import { type CellEngine, isFull } from '../../fleet/engine.ts'
import type { Pool } from '../../fleet/pool.ts'
import { trailOf } from '../../fleet/trails.ts'
import { defineOperation } from '../operation.ts'

const EngineView = z.object({
  cell_id: z.string(),
  slots: z.int(),
  /** Number of requests of this coordinator in flight. */
  in_flight: z.int(),
  /** Number of requests from other clients, as of the last report of the cell. */
  others: z.int(),
  ready: z.boolean(),
  /** The engine has no capacity now and is skipped. */
  full: z.boolean(),
  /**
   * Strength of the trail, which fast successful answers raise and which evaporates; 100 is the
   * strongest.
   */
  trail_percent: z.number().min(0).max(100),
})

const PoolView = z.object({
  model: z.string(),
  /** Tenant that these cells are dedicated to; null for shared cells. */
  tenant_id: z.string().nullable(),
  cells: z.int(),
  slots: z.int(),
  in_flight: z.int(),
  engines: z.array(EngineView),
})

export default defineOperation({
  id: 'routing-show',
  description:
    'Show how requests are routed: the engines of each model, their load and their trails.',
  method: 'GET',
  path: '/v1/routing',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    model: z.string().max(128).exactOptional().describe('Only this model.'),
    limit: z.coerce
      .number()
      .int()
      .min(0)
      .max(1000)
      .default(50)
      .describe('Engines shown per model, those with the strongest trails first.'),
  }),
  output: z.object({
    pools: z.array(PoolView),
    /** Requests that wait for room on a cell, by model. */
    waiting: z.record(z.string(), z.int()),
  }),
  cli: { group: 'routing', verb: 'show' },
  run: ({ model, limit }, { routing: { router, queue, nowMs } }) => ({
    pools: [...router.listPools()]
      .filter(({ pool }) => pool.engines.length > 0 && (model ?? pool.model) === pool.model)
      .map(({ pool, tenantId }) => poolView(pool, tenantId, { limit, nowMs: nowMs() })),
    waiting: Object.fromEntries(queue.lengths()),
  }),
})

const poolView = (
  pool: Pool,
  tenantId: string | undefined,
  { limit, nowMs }: { limit: number; nowMs: number },
): z.input<typeof PoolView> => ({
  model: pool.model,
  tenant_id: tenantId ?? null,
  cells: pool.engines.length,
  slots: pool.slots,
  in_flight: pool.inFlight,
  engines: pool.engines
    .map(engine => engineView(engine, nowMs))
    .sort((a, b) => b.trail_percent - a.trail_percent)
    .slice(0, limit),
})

const engineView = (engine: CellEngine, nowMs: number): z.input<typeof EngineView> => ({
  cell_id: engine.cellId,
  slots: engine.slots,
  in_flight: engine.inFlight,
  others: engine.others,
  ready: engine.ready,
  full: isFull(engine, nowMs),
  trail_percent: Math.round(1000 * trailOf(engine, nowMs)) / 10,
})
