import { exitCode } from '../../shared/errors.ts'
import { NOT_TAKEN_UP } from '../../shared/not-taken-up.ts'
import type { PrintableRows } from '../../shared/print.ts'
import { escapeHidden } from '../../shared/visible.ts'
import type { Pursuit } from './follow.ts'
import type { OpenSession } from './session.ts'

/** A model on one cell, as `shoal models show` has it. */
interface CellStanding {
  cell_id: string
  state: string | null
  phase: string | null
  reason: string | null
}

/** Time that cells get to take up a model and to find out whether it can be loaded. */
const SETTLE_MS = 6000
/** Time after which a model that is not loaded yet counts as one that its first request loads. */
const COLD_MS = 2000

/** The first steps of cells with a model or alias that was added; it stays added whatever they are. */
export const addPursuit = (
  { api }: Pick<OpenSession, 'api'>,
  { id: added }: Record<string, unknown>,
): Pursuit => {
  const id = escapeHidden(String(added))
  const show = `shoal models show ${id}`
  return {
    name: id,
    later: show,
    look: async waitedMs => {
      const path = `/v1/catalogue/${encodeURIComponent(String(added))}?file=false`
      const { file: _none, ...model } = (await api.get(path)) as Record<string, unknown>
      const cells = model.cells as CellStanding[]
      const failed = cells.filter(({ state }) => state === 'failed')
      const isSettled = waitedMs >= SETTLE_MS || cells.every(cell => hasSettled(cell, waitedMs))
      return {
        exit: isSettled ? exitOf(failed) : undefined,
        text: [...new Set(cells.map(({ phase, state }) => phase ?? state ?? 'waiting'))].join(', '),
        percent: null,
        answer: model as PrintableRows,
        hint: hintOf(id, cells, failed),
      }
    },
  }
}

const hasSettled = ({ state, phase, reason }: CellStanding, waitedMs: number): boolean => {
  if (state === null) return reason !== NOT_TAKEN_UP
  if (state === 'loading') return phase === 'downloading'
  return state !== 'cold' || reason !== null || waitedMs >= COLD_MS
}

const exitOf = (failed: readonly CellStanding[]): number =>
  failed.length === 0 ? 0 : exitCode('cell_unavailable')

/** Returns the advice for the next step; undefined once every cell has the model loaded. */
const hintOf = (
  id: string,
  cells: readonly CellStanding[],
  failed: readonly CellStanding[],
): string | undefined => {
  const show = `shoal models show ${id}`
  const [first] = failed
  if (first !== undefined) {
    const where = cells.length === 1 ? '' : ` on ${failed.length} of ${cells.length} cells`
    const why = first.reason === null ? '' : `: ${escapeHidden(first.reason)}`
    return `${id} is added, but cannot be loaded${where}${why}\n${show} shows its state; shoal models remove ${id} takes it out again`
  }
  if (cells.some(({ state }) => state === 'loading')) return `${show} --watch shows its progress`
  return cells.every(({ state }) => state === 'ready') ? undefined : `${show} shows its state`
}
