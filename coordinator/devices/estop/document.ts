import { type EstopBody, MAX_STOPS } from '../../../shared/wire/estop.ts'
import type { Stop } from './estop.table.ts'
import type { EstopReport } from './reports.ts'
import { concernsCell, type StoppedCell, toEngagedStop, toReleasedStop } from './stop.ts'
import type { Stops } from './stops.ts'

type KnownStops = Pick<Stops, 'version' | 'find' | 'listInForce' | 'listReleased'>

/** Stops that a cell must latch, and those that it must end. */
export interface CellStops {
  engaged: Stop[]
  released: Stop[]
}

/** Selects the stops of one cell; it also ends what it reports and people have released. */
export const selectStops = (
  stops: KnownStops,
  cell: StoppedCell,
  report: EstopReport | undefined,
): CellStops => {
  const ids = [...(report?.latched ?? []), ...(report?.released ?? [])]
  // another cell may claim any id for a stop of its own machine, and its release
  const reported = ids
    .flatMap(id => stops.find(id) ?? [])
    .filter(({ isLocal, cellId }) => !isLocal || cellId === cell.id)
  const ended = new Set(
    [...reported, ...stops.listReleased().filter(stop => concernsCell(stop, cell))].filter(
      ({ releasedAt }) => releasedAt !== undefined,
    ),
  )
  return {
    engaged: stops.listInForce().filter(stop => concernsCell(stop, cell)),
    released: [...ended],
  }
}

/** True when the newest report of the cell shows that it has applied all of these stops. */
export const isApplied = (
  { engaged, released }: CellStops,
  report: EstopReport | undefined,
): boolean => {
  if (report === undefined) return engaged.length === 0
  return (
    engaged.every(({ id }) => report.latched.has(id)) &&
    !released.some(({ id }) => report.latched.has(id) || report.released.has(id))
  )
}

/** Text that differs when other stops are engaged or released. */
export const describeStops = ({ engaged, released }: CellStops): string =>
  [engaged, released].map(stops => stops.map(({ id }) => id).join()).join(';')

/**
 * Creates the document of one cell, or of several that need the same. Its version is never below what
 * they have applied, so that a store that was set back, or a stop that is not stored yet, still
 * reaches them: a cell adds what a document of the same version engages.
 */
export const createDocument = (
  [cellId, ...others]: readonly string[],
  { engaged, released }: CellStops,
  { version, now }: { version: number; now: number },
): Omit<EstopBody, 'key_id' | 'signature'> => ({
  version,
  ...(cellId !== undefined && others.length === 0 && { cell_id: cellId }),
  engaged: engaged.slice(-MAX_STOPS).map(toEngagedStop),
  released: released.slice(-MAX_STOPS).map(toReleasedStop),
  issued_at: now,
})
