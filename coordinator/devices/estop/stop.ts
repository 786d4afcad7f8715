import type { EngagedStop, EstopScope, ReleasedStop } from '../../../shared/wire/estop.ts'
import type { EstopRow } from './estop.table.ts'

/** An e-stop of the fleet. Times are unix milliseconds. */
export interface Stop {
  id: string
  scope: EstopScope
  /** Site, cell id or device id; null for `all`. */
  target: string | null
  /** The only cell that it is for, such as the one on which it was engaged; undefined for others. */
  cellId: string | undefined
  /** True for a stop that was engaged on the machine of its cell. */
  isLocal: boolean
  engagedAt: number
  engagedBy: string
  reason: string
  /** Undefined while the stop is in force. */
  release: StopRelease | undefined
}

export interface StopRelease {
  at: number
  by: string
  reason: string
}

/** A cell, as far as it matters which stops concern it. */
export interface StoppedCell {
  id: string
  hasDevice: (deviceId: string) => boolean
}

/** True for a stop that a cell must latch. Only the cell itself knows the sites of its devices. */
export const concernsCell = (
  { scope, target, cellId }: Pick<Stop, 'scope' | 'target' | 'cellId'>,
  cell: StoppedCell,
): boolean => {
  if (cellId !== undefined) return cellId === cell.id
  if (scope === 'cell') return target === cell.id
  return scope !== 'device' || cell.hasDevice(target ?? '')
}

export const toEngagedStop = (stop: Stop): EngagedStop => ({
  estop_id: stop.id,
  scope: stop.scope,
  target: stop.target,
  engaged_at: stop.engagedAt,
  engaged_by: stop.engagedBy,
  reason: stop.reason,
})

export const toReleasedStop = ({ id, release }: Stop): ReleasedStop => ({
  estop_id: id,
  released_at: release?.at ?? 0,
  released_by: release?.by ?? '',
  reason: release?.reason ?? '',
})

export const toStop = (row: EstopRow): Stop => ({
  id: row.id,
  scope: row.scope as EstopScope,
  target: row.target,
  cellId: row.cell_id ?? undefined,
  isLocal: row.is_local === 1,
  engagedAt: row.engaged_at,
  engagedBy: row.engaged_by,
  reason: row.reason,
  release:
    row.released_at === null
      ? undefined
      : { at: row.released_at, by: row.released_by ?? '', reason: row.release_reason ?? '' },
})

export const toEstopRow = (stop: Stop): EstopRow => ({
  id: stop.id,
  scope: stop.scope,
  target: stop.target,
  cell_id: stop.cellId ?? null,
  is_local: stop.isLocal ? 1 : 0,
  engaged_at: stop.engagedAt,
  engaged_by: stop.engagedBy,
  reason: stop.reason,
  released_at: stop.release?.at ?? null,
  released_by: stop.release?.by ?? null,
  release_reason: stop.release?.reason ?? null,
})

/** Wire format of a stop: data of its events, and part of the answers about it. */
export const stopData = (stop: Stop) => ({
  estop_id: stop.id,
  scope: stop.scope,
  target: stop.target,
  cell_id: stop.cellId ?? null,
  is_local: stop.isLocal,
  engaged_at: new Date(stop.engagedAt).toISOString(),
  engaged_by: stop.engagedBy,
  reason: stop.reason,
  released_at: stop.release === undefined ? null : new Date(stop.release.at).toISOString(),
  released_by: stop.release?.by ?? null,
  release_reason: stop.release?.reason ?? null,
})
