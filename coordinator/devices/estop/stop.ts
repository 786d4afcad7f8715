import { iso, isoOrNull } from '../../../shared/time.ts'
import type { EngagedStop, ReleasedStop } from '../../../shared/wire/estop.ts'
import type { Stop } from './estop.table.ts'

/** Fields of a stop that is not released. */
export const IN_FORCE = {
  releasedAt: undefined,
  releasedBy: undefined,
  releaseReason: undefined,
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
  target: stop.target ?? null,
  engaged_at: stop.engagedAt,
  engaged_by: stop.engagedBy,
  reason: stop.reason,
})

export const toReleasedStop = (stop: Stop): ReleasedStop => ({
  estop_id: stop.id,
  released_at: stop.releasedAt ?? 0,
  released_by: stop.releasedBy ?? '',
  reason: stop.releaseReason ?? '',
})

/** Wire format of a stop: data of its events, and part of the answers about it. */
export const stopData = (stop: Stop) => ({
  estop_id: stop.id,
  scope: stop.scope,
  target: stop.target ?? null,
  cell_id: stop.cellId ?? null,
  is_local: stop.isLocal,
  engaged_at: iso(stop.engagedAt),
  engaged_by: stop.engagedBy,
  reason: stop.reason,
  released_at: isoOrNull(stop.releasedAt),
  released_by: stop.releasedBy ?? null,
  release_reason: stop.releaseReason ?? null,
})
