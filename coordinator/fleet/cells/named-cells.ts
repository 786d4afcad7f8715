import type { EnrolmentViews } from '../enrolment/open.ts'
import type { FleetViews } from './open.ts'

/** Cells by name: those that were enrolled, and those that announce themselves. */
export interface CellNames {
  cells: Pick<EnrolmentViews['cells'], 'listNamed'>
  fleet: Pick<FleetViews['fleet'], 'cell' | 'cells'>
}

export interface NamedCell {
  id: string
  name: string
}

/** Cells that announce one of these whole names to this coordinator, from memory. */
export const listAnnounced = (
  names: ReadonlySet<string>,
  fleet: Pick<FleetViews['fleet'], 'cells'>,
): NamedCell[] =>
  [...fleet.cells()].flatMap(({ id, announce }) =>
    announce !== undefined && names.has(announce.name) ? [{ id, name: announce.name }] : [],
  )

/**
 * Cells with one of these whole names, oldest first: by the name that a cell announces, and by the
 * one of its enrolment while it announces none here. That is the name that lists show.
 */
export const readNamedCells = async (
  names: ReadonlySet<string>,
  { cells, fleet }: CellNames,
): Promise<NamedCell[]> => {
  const enrolled = await cells.listNamed([...names])
  const quiet = enrolled.filter(({ id }) => fleet.cell(id)?.announce === undefined)
  return [...listAnnounced(names, fleet), ...quiet].sort((a, b) => (a.id < b.id ? -1 : 1))
}
