import type { ScanModule } from '../../../discovery/module.ts'
import { Sighting } from '../../../discovery/sighting.ts'

export interface FuzzResult {
  /** Events that were read; the others were refused as malformed. */
  heard: number
  /** Rows that the declaration accepts. */
  rows: number
  /** First row that it does not accept, or failure of the code under test. */
  fault: string | undefined
}

/** Checks that each row is as declared, and that the sightings of it are. */
export const checkRows = (
  module: ScanModule,
  found: Iterable<object>,
): Pick<FuzzResult, 'rows' | 'fault'> => {
  let rows = 0
  for (const row of found) {
    const { success, error } = module.row.safeParse(row)
    if (!success) return { rows, fault: `${JSON.stringify(row)}: ${error.message}` }
    for (const sighting of module.observe?.(row as never, { cellId: 'cell-a' }) ?? []) {
      const checked = Sighting.safeParse(sighting)
      if (!checked.success)
        return { rows, fault: `sighting ${JSON.stringify(sighting)}: ${checked.error.message}` }
    }
    rows++
  }
  return { rows, fault: undefined }
}

/** Adds the results of batches; the first fault stays. */
export const addResults = (total: FuzzResult, more: FuzzResult): FuzzResult => ({
  heard: total.heard + more.heard,
  rows: total.rows + more.rows,
  fault: total.fault ?? more.fault,
})

export const NOTHING: FuzzResult = { heard: 0, rows: 0, fault: undefined }
