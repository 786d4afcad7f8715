import { NEEDS } from '../../../shared/wire/capability.ts'
import { MODEL_FACTS_NAME, MODEL_FACTS_PATH, ModelFacts } from '../../../shared/wire/model-facts.ts'
import { type Cell, engineReports } from '../cells/cell.ts'
import type { Fleet } from '../cells/fleet.ts'
import { isPresent } from '../cells/presence.ts'
import { askCell, createCellUnavailableError } from './ask-cell.ts'
import { messageOf } from './cell-answer.ts'

const MAX_BYTES = 512 * 1024
const MAX_SECONDS = 20

/** Asks cells that have the file of a model in turn, until one answers; null when none does. */
export const findModelFacts = async (
  cells: Iterable<Cell>,
  model: string,
  signal: AbortSignal,
): Promise<ModelFacts | null> => {
  for (const cell of cells) {
    if (!hasFile(cell, model)) continue
    const facts = await askModelFacts({ cell: () => cell }, cell.id, model, signal).catch(
      () => null,
    )
    signal.throwIfAborted()
    if (facts !== null) return facts
  }
  return null
}

/** True for a cell that can be asked for the file; it does not count where the id is its own. */
export const hasFile = (cell: Cell, model: string): boolean => {
  const report = engineReports(cell).find(({ models }) => models.includes(model))
  const isAble = (cell.announce?.capability ?? 0) >= NEEDS.models && cell.link !== undefined
  const isIt = report?.file_bytes !== undefined && report.own_models?.includes(model) !== true
  return isAble && isIt && isPresent(cell.presence)
}

/**
 * The facts that a weights file on a cell states about itself. Throws as `askCell` does, and
 * `cell_unavailable` for a cell that does not have the file or is too old to tell.
 */
export const askModelFacts = async (
  fleet: Pick<Fleet, 'cell'>,
  cellId: string,
  model: string,
  signal: AbortSignal,
): Promise<ModelFacts> => {
  const input = encodeURIComponent(JSON.stringify({ model }))
  const question = {
    path: `${MODEL_FACTS_PATH}${MODEL_FACTS_NAME}?input=${input}`,
    what: `the file of ${model}`,
    maxBytes: MAX_BYTES,
    maxSeconds: MAX_SECONDS,
  }
  const { status, text } = await askCell(fleet, cellId, question, signal)
  if (status !== 200)
    throw createCellUnavailableError(cellId, `says: ${messageOf(Buffer.from(text))}`)
  const { data } = ModelFacts.safeParse(parse(text))
  if (data === undefined) throw createCellUnavailableError(cellId, 'returned an unknown response')
  return data
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
