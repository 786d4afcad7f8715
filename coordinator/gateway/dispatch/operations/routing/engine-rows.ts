import { type Cell, engineReports, isRoutable } from '../../../../fleet/cells/cell.ts'
import type { CellEngine } from '../../../../fleet/routing/engine.ts'
import type { Pool } from '../../../../fleet/routing/pool.ts'

/**
 * Reason why an engine gets no requests, or `serving`: its cell is away, draining or without a link,
 * or the engine itself failed.
 */
export const ENGINE_STATES = ['serving', 'engine_failed', 'draining', 'no_link', 'away'] as const
type EngineState = (typeof ENGINE_STATES)[number]

export interface EngineRow {
  engine: CellEngine
  state: EngineState
}

/** Lists the engines of a pool, and those that left it and may come back. */
export const listEngineRows = (
  { model, engines }: Pool,
  tenantId: string | undefined,
  cells: Iterable<Cell>,
  tenantOf: (cellId: string) => string | undefined,
): EngineRow[] => {
  const rows = engines.map((engine): EngineRow => ({ engine, state: 'serving' }))
  const known = new Set(engines)
  for (const cell of cells) {
    if (tenantOf(cell.id) !== tenantId) continue
    for (const { weights, models, state } of engineReports(cell)) {
      const engine = cell.engines.get(weights)
      if (engine === undefined || known.has(engine) || !models.includes(model)) continue
      rows.push({ engine, state: stateOf(cell, state === 'failed') })
    }
  }
  return rows
}

const stateOf = (cell: Cell, hasFailed: boolean): EngineState => {
  if (cell.presence === 'draining') return 'draining'
  if (cell.presence !== 'ready' && cell.presence !== 'degraded') return 'away'
  if (!isRoutable(cell)) return 'no_link'
  return hasFailed ? 'engine_failed' : 'serving'
}
