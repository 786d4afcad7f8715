import { type Observation, observeCell } from './alert-rules.ts'
import type { Alerts } from './alerts.ts'
import type { Cell } from './cell.ts'
import type { MassLoss } from './mass-loss.ts'

export interface WatchParts {
  cells: () => Iterable<Cell>
  massLoss: Pick<MassLoss, 'degraded' | 'missing'>
  alerts: Pick<Alerts, 'look'>
}

/** Looks over the whole fleet for what should be told; call the result about once a second. */
export const createWatch = ({ cells, massLoss, alerts }: WatchParts): (() => void) => {
  const dropped = new WeakMap<Cell, number>()

  /** A cell that is seen for the first time has dropped nothing while we looked. */
  const newlyDropped = (cell: Cell): number => {
    const total = cell.sample?.spool_dropped
    if (total === undefined) return 0
    const before = dropped.get(cell)
    if (before !== total) dropped.set(cell, total)
    return total - (before ?? total)
  }
  const around = { missing: massLoss.missing, newlyDropped }

  const observations = function* (): Generator<Observation> {
    if (massLoss.degraded()) yield fleetDegraded
    for (const cell of cells()) yield* observeCell(cell, around)
  }

  return () => alerts.look(observations())
}

const fleetDegraded: Observation = {
  rule: 'fleet_degraded',
  cellId: undefined,
  part: undefined,
  state: 'bad',
  message: 'over half of the cells were lost within 10 s; look at the network first',
}
