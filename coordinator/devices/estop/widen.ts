import type { EstopScope } from '../../../shared/wire/estop.ts'
import type { Stop } from './estop.table.ts'
import type { StoppedCell } from './stop.ts'

/** Devices, a site, a cell or everything that an e-stop is engaged for. */
export interface StopTarget {
  scope: EstopScope
  /** Site, cell id or device id; undefined for `all`. */
  target: string | undefined
}

/*
 * A stop is never refused. These bounds keep the stops of one cell within a document: past them a
 * new stop joins another one, or is widened to what covers its target.
 */

/** Most stops in force for one target; a further one joins the newest. */
const MAX_PER_TARGET = 4
/** Most sites with stops in force. */
const MAX_SITES = 16
/** Most devices of one cell with stops in force. */
const MAX_DEVICES = 32
/** Most stops in force. */
const MAX_STOPS = 4096

const ALL: StopTarget = { scope: 'all', target: undefined }

/** Stop in force that a new one for the target joins; undefined while there is room for another. */
export const findJoined = (
  inForce: readonly Stop[],
  { scope, target }: StopTarget,
): Stop | undefined => {
  const equal = inForce.filter(
    stop => stop.scope === scope && stop.target === target && stop.cellId === undefined,
  )
  return equal.length < MAX_PER_TARGET ? undefined : equal.at(-1)
}

/**
 * Returns the target of a new stop: the wanted one, or one that covers it. `cells` are those that
 * announce a wanted device.
 */
export const widenTarget = (
  inForce: readonly Stop[],
  wanted: StopTarget,
  cells: readonly StoppedCell[],
): StopTarget => {
  if (inForce.length >= MAX_STOPS) return ALL
  const targets = new Set(
    inForce.filter(({ scope }) => scope === wanted.scope).map(({ target }) => target ?? ''),
  )
  if (targets.has(wanted.target ?? '')) return wanted
  if (wanted.scope === 'site') return targets.size < MAX_SITES ? wanted : ALL
  if (wanted.scope !== 'device') return wanted
  const full = cells.find(({ hasDevice }) => [...targets].filter(hasDevice).length >= MAX_DEVICES)
  if (full === undefined) return wanted
  return cells.length === 1 ? { scope: 'cell', target: full.id } : ALL
}
