import * as z from 'zod'
import { createUnknownError } from '../../../../../shared/reference-errors.ts'
import type { FleetViews } from '../../../../fleet/cells/open.ts'
import type { ModelViews } from '../../../../fleet/models/open.ts'
import { isFull } from '../../../../fleet/routing/engine.ts'
import { BREAKER_STATES, type BreakerState } from '../../../../fleet/routing/health/breaker.ts'
import { EngineHealth } from '../../../../fleet/routing/health/engine-health.ts'
import { FAULTS } from '../../../../fleet/routing/health/fault.ts'
import type { Pool } from '../../../../fleet/routing/pool.ts'
import { trailOf } from '../../../../fleet/routing/trails.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { DispatchViews } from '../../open.ts'
import { ENGINE_STATES, type EngineRow, listEngineRows } from './engine-rows.ts'

const EngineView = z.object({
  cell_id: z.string(),
  /** `serving`, or why the engine gets no requests; `breaker` may still block it. */
  state: z.enum(ENGINE_STATES),
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
  /**
   * Circuit breaker: `closed` takes requests, `open` takes none, `half_open` takes one at a time to
   * see whether it succeeds.
   */
  breaker: z.enum(BREAKER_STATES),
  /**
   * Seconds until the breaker lets the next request through; 0 when it does now. While a half-open
   * breaker waits for the outcome of a request, the time after which it lets another one through.
   */
  retry_in_seconds: z.number().min(0),
  /** Share of the newest requests that failed by the cell's fault. */
  failing_percent: z.number().min(0).max(100),
  /** Way in which the last failed request failed; null when none did. */
  last_fault: z.enum(FAULTS).nullable(),
  /** Usual time to the first event of a stream; null before the first one. */
  first_byte_ms: z.number().nullable(),
  /** Tokens that one request gets per second; null before the first answer. */
  tokens_per_second: z.number().nullable(),
  /** The recent answers were much slower than usual for this engine. */
  slow: z.boolean(),
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
    'Show how requests are routed: the engines of each model, their load, trails and health.',
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
      .describe(
        'Engines shown per model: first those that get no requests, then those with the strongest trails.',
      ),
    breaker: z
      .enum(BREAKER_STATES)
      .exactOptional()
      .describe('Only engines whose circuit breaker is in this state.'),
  }),
  output: z.object({
    pools: z.array(PoolView),
    /** Requests that wait for room on a cell, by model. */
    waiting: z.record(z.string(), z.int()),
  }),
  cli: { group: 'routing', verb: 'show' },
  run: (
    { model, limit, breaker },
    {
      fleet,
      catalogue,
      waiting,
      routing: { router, nowMs },
    }: DispatchViews & FleetViews & ModelViews,
  ) => {
    const pools = [...router.listPools()].filter(({ pool }) => (model ?? pool.model) === pool.model)
    // a model that no cell serves now has no engines, and a misspelt one is an error
    if (model !== undefined && pools.length === 0 && !catalogue.some(({ id }) => id === model))
      throw createUnknownError('model', model)
    return {
      pools: pools
        .map(({ pool, tenantId }) => {
          const rows = listEngineRows(pool, tenantId, fleet.cells(), id => router.tenantOf(id))
          return { ...poolView(pool, tenantId), engines: viewRows(rows, nowMs(), breaker, limit) }
        })
        .filter(({ cells, engines }) => cells > 0 || engines.length > 0),
      waiting: Object.fromEntries(waiting.lengths()),
    }
  },
})

type View = z.input<typeof EngineView>

const poolView = (pool: Pool, tenantId: string | undefined) => ({
  model: pool.model,
  tenant_id: tenantId ?? null,
  cells: pool.engines.length,
  slots: pool.slots,
  in_flight: pool.inFlight,
})

const viewRows = (
  rows: readonly EngineRow[],
  nowMs: number,
  breaker: BreakerState | undefined,
  limit: number,
): View[] =>
  rows
    .map(row => engineView(row, nowMs))
    .filter(view => (breaker ?? view.breaker) === view.breaker)
    .sort((a, b) => Number(isSound(a)) - Number(isSound(b)) || b.trail_percent - a.trail_percent)
    .slice(0, limit)

const isSound = ({ state, breaker }: View): boolean => state === 'serving' && breaker === 'closed'

const engineView = ({ engine, state }: EngineRow, nowMs: number): View => ({
  cell_id: engine.cellId,
  state,
  slots: engine.slots,
  in_flight: engine.inFlight,
  others: engine.others,
  ready: engine.ready,
  full: isFull(engine, nowMs),
  trail_percent: Math.round(1000 * trailOf(engine, nowMs)) / 10,
  ...healthView(engine.health ?? UNUSED, nowMs),
})

/** Record of an engine that had no request yet. */
const UNUSED = new EngineHealth()

const healthView = (health: EngineHealth, nowMs: number) => {
  const { breaker, lastFault, firstByteMs, msPerToken } = health
  return {
    breaker: breaker.state(nowMs),
    retry_in_seconds: Math.ceil(breaker.pauseMs(nowMs) / 100) / 10,
    failing_percent: Math.round(100 * breaker.failing),
    last_fault: lastFault ?? null,
    first_byte_ms: roundOrNull(firstByteMs.mean),
    tokens_per_second: roundOrNull(msPerToken.mean && 1000 / msPerToken.mean),
    slow: health.isSlow,
  }
}

const roundOrNull = (value: number | undefined): number | null =>
  value === undefined ? null : Math.round(10 * value) / 10
