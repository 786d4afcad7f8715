import { cleanText } from '../../../shared/mdns/txt.ts'
import type { RowOf } from '../../kernel/store/define-table.ts'
import type { RunOutcome } from '../entities/findings-sink.ts'
import { moduleResultTable, type StoredResult } from './module-result.table.ts'

type Row = RowOf<typeof moduleResultTable>

/** A run as it is kept, or one part of it, with null as in the answer of its module. */
export interface ResultPart extends Omit<StoredResult, 'moduleId' | 'elapsedMs' | 'reason'> {
  module: string
  elapsedMs: number | null
  reason: string | null
}

/** The last run of a module on one cell. */
export interface KeptResult extends Omit<ResultPart, 'part' | 'outcome'> {
  outcome: RunOutcome
}

export const columnsOf = (part: ResultPart): Row =>
  moduleResultTable.write({
    ...part,
    moduleId: part.module,
    elapsedMs: part.elapsedMs ?? undefined,
    // it may quote what a host answered, and PostgreSQL keeps no NUL
    reason: part.reason === null ? undefined : cleanText(part.reason.toWellFormed()),
  })

/** A run from the row of its last part and the rows of all its parts; undefined before its end. */
export const toKeptResult = (
  end: Row,
  parts: readonly Pick<Row, 'rows_json'>[],
): KeptResult | undefined => {
  const { moduleId, outcome, elapsedMs = null, reason = null, ...run } = moduleResultTable.read(end)
  const { read } = moduleResultTable.columns.rows_json
  const rows = parts.flatMap(part => read(part.rows_json))
  return outcome && { ...run, module: moduleId, outcome, elapsedMs, reason, rows }
}
