import type { Cell } from '../cells/cell.ts'
import type { MassLoss } from '../cells/mass-loss.ts'
import { isPresent } from '../cells/presence.ts'
import { observeModels, type PromisedModel } from '../cells/promised-models.ts'
import type { Observation } from './alert-rules.ts'
import { observeCell } from './observe-cell.ts'

interface WatchParts {
  cells: () => Iterable<Cell>
  massLoss: Pick<MassLoss, 'isDegraded' | 'isMissing'>
  /** True while another coordinator is connected to the cell. */
  isSeenElsewhere?: (cellId: string) => boolean
  /** True when the cell was reported as stopped. */
  isStopped?: (cellId: string) => boolean
  /** Ids of the cells in quarantine, which are not among `cells`. */
  listQuarantined?: () => Iterable<string>
  /** Fault of the audit, which stops all writing; undefined while the audit is intact. */
  auditTrouble?: () => string | undefined
  /** Description of missing usage records; undefined while they are complete. */
  usageTrouble?: () => string | undefined
  /** The models that the catalogue promises. */
  listModels?: () => readonly PromisedModel[]
  /** Further sources of observations. */
  alertSources?: Iterable<() => Iterable<Observation>>
  /** True while cells may not have come back yet: then it is unknown whether the fleet is whole. */
  isStarting?: () => boolean
}

/** Returns a function that observes the whole fleet and the audit; call it about once a second. */
export const createWatch = (parts: WatchParts): (() => Iterable<Observation>) => {
  const { cells, massLoss, listQuarantined = () => [], auditTrouble, usageTrouble } = parts
  const { listModels = () => [], isStopped = () => false } = parts
  const { isSeenElsewhere = () => false, isStarting = () => false, alertSources = [] } = parts
  const dropped = new WeakMap<Cell, number>()

  /**
   * Increase of the cell's `spool_dropped` since the last look; 0 for a cell that is seen for the
   * first time.
   */
  const newlyDropped = (cell: Cell): number => {
    const total = cell.sample?.spool_dropped
    if (total === undefined) return 0
    const before = dropped.get(cell)
    if (before !== total) dropped.set(cell, total)
    return total - (before ?? total)
  }
  /** Another coordinator has a cell that is not connected to this one. */
  const isElsewhere = ({ id, presence }: Cell): boolean =>
    !isPresent(presence) && isSeenElsewhere(id)
  const surroundings = { isMissing: massLoss.isMissing, isSeenElsewhere, isStopped, newlyDropped }

  const observe = function* (): Generator<Observation> {
    const fault = auditTrouble?.()
    if (fault !== undefined) yield observeAudit(fault)
    const loss = usageTrouble?.()
    if (loss !== undefined) yield observeUsage(loss)
    if (massLoss.isDegraded()) yield fleetDegraded
    else if (isStarting()) yield { ...fleetDegraded, state: 'hold' }
    yield* observeModels(listModels(), cells(), isStarting() || [...cells()].some(isElsewhere))
    for (const cellId of listQuarantined()) yield observeQuarantine(cellId)
    for (const observeMore of alertSources) yield* observeMore()
    for (const cell of cells()) yield* observeCell(cell, surroundings)
  }

  return observe
}

const observeQuarantine = (cellId: string): Observation => ({
  rule: 'cell_quarantined',
  cellId,
  part: undefined,
  state: 'bad',
  message: 'two machines use the identity of this cell; stop the copy, then release the cell',
})

const observeAudit = (fault: string): Observation => ({
  rule: 'audit_broken',
  cellId: undefined,
  part: undefined,
  state: 'bad',
  message: `nothing is written, because of the audit: ${fault}; GET /v1/audit/verify shows where`,
})

const observeUsage = (loss: string): Observation => ({
  rule: 'usage_missing',
  cellId: undefined,
  part: undefined,
  state: 'bad',
  message: `${loss}; restore records.db from a backup, or accept it: shoal-coordinator usage accept`,
})

const fleetDegraded: Observation = {
  rule: 'fleet_degraded',
  cellId: undefined,
  part: undefined,
  state: 'bad',
  message: 'over half of the cells were lost within 10 s; check the network first',
}
