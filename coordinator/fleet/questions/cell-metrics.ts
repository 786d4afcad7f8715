import { CELL_METRICS_PATH } from '../../../shared/wire/link.ts'
import type { Fleet } from '../cells/fleet.ts'
import { askCell, createCellUnavailableError } from './ask-cell.ts'

/** The metrics of a cell with many engines are smaller. */
const MAX_BYTES = 4 * 1024 * 1024
const MAX_SECONDS = 30

/**
 * The metrics of a cell in Prometheus text format, over its link. Throws `not_found` for a cell that
 * is not enrolled, `cell_unavailable` for one that is away, too old or answers nonsense.
 */
export const askForMetrics = async (
  fleet: Pick<Fleet, 'cell'>,
  cellId: string,
  signal: AbortSignal,
): Promise<string> => {
  const question = {
    path: CELL_METRICS_PATH,
    what: 'its metrics',
    maxBytes: MAX_BYTES,
    maxSeconds: MAX_SECONDS,
  }
  const { status, text } = await askCell(fleet, cellId, question, signal)
  if (status === 404) throw createCellUnavailableError(cellId, 'is too old to report its metrics')
  if (status !== 200) throw createCellUnavailableError(cellId, `answered ${status}`)
  return text
}
