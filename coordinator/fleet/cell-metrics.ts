import { CELL_METRICS_PATH } from '../../shared/wire/link.ts'
import { askCell, unavailable } from './ask-cell.ts'
import type { Fleet } from './fleet.ts'

/** More than a cell with many engines has to say. */
const MAX_BYTES = 4 * 1024 * 1024

/**
 * What a cell tells of itself in the words of Prometheus, over its link. Throws `not_found` for a
 * cell nobody enrolled, `cell_unavailable` for one that is away, too old or answers nonsense.
 */
export const askForMetrics = async (
  fleet: Pick<Fleet, 'cell'>,
  cellId: string,
  signal: AbortSignal,
): Promise<string> => {
  const question = { path: CELL_METRICS_PATH, what: 'its metrics', maxBytes: MAX_BYTES }
  const { status, text } = await askCell(fleet, cellId, question, signal)
  if (status === 404) throw unavailable(cellId, 'is too old to tell its metrics')
  if (status !== 200) throw unavailable(cellId, `answered ${status}`)
  return text
}
