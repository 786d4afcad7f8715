import { exitCode } from '../../shared/errors.ts'
import type { PrintableRows } from '../../shared/print.ts'
import { formatBytes } from '../../shared/print-number.ts'
import { escapeHidden } from '../../shared/visible.ts'
import type { Pursuit } from './follow.ts'
import type { OpenSession } from './session.ts'

/** A model on one cell, as `shoal models show` has it. */
interface CellStanding {
  cell_id: string
  state: string | null
  phase: string | null
  downloaded_bytes: number | null
  download_total_bytes: number | null
  download_bytes_per_second: number | null
  remaining_seconds: number | null
  file_bytes: number | null
  reason: string | null
}

/** Cells that the line of progress names. */
const MAX_NAMED = 2

/** The download of a model to the cells that the answer of `shoal models pull` lists. */
export const pullPursuit = (
  { api }: Pick<OpenSession, 'api'>,
  answer: Record<string, unknown>,
): Pursuit => {
  const { id, cells: asked } = answer as unknown as { id: string; cells: CellStanding[] }
  const ids = asked.map(({ cell_id }) => cell_id)
  return {
    name: escapeHidden(id),
    later: `shoal models show ${escapeHidden(id)}`,
    look: async () => {
      const path = `/v1/catalogue/${encodeURIComponent(id)}?file=false`
      const model = (await api.get(path)) as { cells: CellStanding[] }
      const cells = model.cells.filter(({ cell_id }) => ids.includes(cell_id))
      return {
        exit: exitOf(cells, ids.length),
        text: describe(cells),
        percent: percentOf(cells),
        answer: { id, cells: cells.map(toShownStanding) } as PrintableRows,
      }
    },
  }
}

const isBusy = ({ phase }: CellStanding): boolean => phase === 'downloading' || phase === 'checking'
const isThere = (cell: CellStanding): boolean =>
  cell.file_bytes !== null && !isBusy(cell) && cell.state !== 'failed'
/** A cell that has the file may still lack the memory, which is no failure of the download. */
const hasFailed = (cell: CellStanding): boolean =>
  cell.reason !== null && !isBusy(cell) && !isThere(cell) && cell.phase === null

/** Exit code once no cell is at work any more. */
const exitOf = (cells: readonly CellStanding[], asked: number): number | undefined => {
  if (!cells.every(cell => isThere(cell) || hasFailed(cell))) return undefined
  return cells.length === asked && cells.every(isThere) ? 0 : exitCode('cell_unavailable')
}

const percentOf = (cells: readonly CellStanding[]): number | null => {
  const sum = (read: (cell: CellStanding) => number | null): number =>
    cells.reduce(
      (total, cell) => total + (isThere(cell) ? (cell.file_bytes ?? 0) : (read(cell) ?? 0)),
      0,
    )
  const total = sum(({ download_total_bytes }) => download_total_bytes)
  return total === 0 ? null : (100 * sum(({ downloaded_bytes }) => downloaded_bytes)) / total
}

const describe = (cells: readonly CellStanding[]): string => {
  const busy = cells.filter(cell => !isThere(cell))
  const more = busy.length > MAX_NAMED ? [`${busy.length - MAX_NAMED} more cells`] : []
  return [...busy.slice(0, MAX_NAMED).map(describeCell), ...more].join('; ')
}

const describeCell = (cell: CellStanding): string => {
  const { cell_id, phase, downloaded_bytes, download_total_bytes, remaining_seconds } = cell
  const speed = cell.download_bytes_per_second
  // the id stands last, as it is long and a narrow terminal cuts the line
  const parts = [
    downloaded_bytes === null
      ? (cell.reason ?? phase ?? cell.state ?? 'waiting')
      : describeSize(downloaded_bytes, download_total_bytes),
    speed === null ? '' : `${formatBytes(speed)}/s`,
    remaining_seconds === null ? '' : `${remaining_seconds} s left`,
  ]
  return `${parts.filter(part => part !== '').join(', ')} (${cell_id})`
}

const describeSize = (bytes: number, totalBytes: number | null): string =>
  totalBytes === null ? formatBytes(bytes) : `${formatBytes(bytes)} of ${formatBytes(totalBytes)}`

const toShownStanding = ({ cell_id, state, file_bytes, reason }: CellStanding) => ({
  cell_id,
  state,
  file_bytes,
  reason,
})
