import { type Catalogue, CatalogueEntry } from '../../../shared/catalogue.ts'
import type { EngineReport } from '../../../shared/wire/telemetry.ts'
import type { Observation } from '../alerts/alert-rules.ts'
import { type Cell, engineReports } from '../cells/cell.ts'
import { isPresent } from '../cells/presence.ts'

/** Ids that one alert names; a cell may offer many with the same weights. */
const MAX_NAMED = 5

/**
 * Finds engines of cells that offer ids which the catalogue lacks, one observation for each engine.
 * A cell that is away is neither good nor bad.
 */
export const observeUnlisted = function* (
  cells: Iterable<Cell>,
  catalogue: Catalogue,
): Generator<Observation> {
  const known = new Set(catalogue.map(({ id }) => id))
  for (const cell of cells) {
    const about = { rule: 'model_unlisted' as const, cellId: cell.id }
    if (!isPresent(cell.presence)) {
      yield { ...about, part: undefined, state: 'hold', message: '' }
      continue
    }
    for (const report of engineReports(cell)) {
      const unlisted = report.models.filter(id => !known.has(id))
      if (unlisted.length === 0) continue
      const message = describeUnlisted(unlisted, report, cell.id)
      yield { ...about, part: report.weights, state: 'bad', message }
    }
  }
}

const describeUnlisted = (ids: readonly string[], report: EngineReport, cellId: string): string => {
  const named = ids.slice(0, MAX_NAMED).join(', ')
  const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : ''
  const command = commandFor(ids[0] as string, report, cellId)
  const remedy =
    command === undefined
      ? 'add it to the catalogue, or take it out of the configuration of the cell'
      : `add it with: ${command}`
  return `the cell offers ${named}${more}, which the catalogue lacks; ${remedy}`
}

/**
 * The command that adds the model; undefined when what the cell reports does not make a safe one. The
 * label of weights is cut at its beginning when it is long, and then names nothing.
 */
const commandFor = (
  id: string,
  { weights, kind }: EngineReport,
  cellId: string,
): string | undefined => {
  const isWhole = /^(hf:|bundled:|https:\/\/|\/)/.test(weights)
  const { success } = CatalogueEntry.shape.weights.safeParse(weights)
  if (!isWhole || !success || !CatalogueEntry.shape.id.safeParse(id).success) return undefined
  const source = weights.startsWith('/') ? `--path ${quote(weights)}` : quote(weights)
  const ofKind = kind === 'chat' ? '' : ` --kind ${kind}`
  return `shoal models add ${id} ${source}${ofKind} --on ${cellId}`
}

/** A word for a POSIX shell: a cell reports the text, and an operator pastes it. */
const quote = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
