import { cleanText } from '../../../shared/mdns/txt.ts'
import type { ModuleRow, UpstreamSource } from '../../../shared/wire/findings.ts'
import type { RunOutcome } from '../registry/findings-sink.ts'
import type { ModuleResultRow } from './module-result.table.ts'
import type { ModuleWarning } from './module-result.ts'

/** What is kept beside the rows of a run. */
export interface ResultNotes {
  warnings: readonly ModuleWarning[]
  /** Sources of a lookup. */
  sources?: readonly UpstreamSource[]
}

/** A run as it is kept, or one part of it. */
export interface ResultPart {
  /** Cell that ran the module; empty for a lookup. */
  cellId: string
  module: string
  runId: string
  /** Number of the part, from 0. */
  part: number
  startedAt: number
  takenAt: number
  elapsedMs: number | null
  /** Undefined while more parts are to come. */
  outcome: RunOutcome | undefined
  reason: string | null
  notes: ResultNotes
  rows: readonly ModuleRow[]
}

/** The last run of a module on one cell. */
export interface KeptResult extends Omit<ResultPart, 'part' | 'outcome'> {
  outcome: RunOutcome
}

export const columnsOf = (part: ResultPart): ModuleResultRow => ({
  cell_id: part.cellId,
  module_id: part.module,
  run_id: part.runId,
  part: part.part,
  started_at: part.startedAt,
  taken_at: part.takenAt,
  elapsed_ms: part.elapsedMs,
  outcome: part.outcome ?? null,
  // it may quote what a host answered, and PostgreSQL keeps no NUL
  reason: part.reason === null ? null : cleanText(part.reason.toWellFormed()),
  notes_json: JSON.stringify(part.notes),
  rows_json: JSON.stringify(part.rows),
})

/** A run from the row of its last part and the rows of all its parts. */
export const toKeptResult = (end: ModuleResultRow, parts: readonly string[]): KeptResult => ({
  cellId: end.cell_id,
  module: end.module_id,
  runId: end.run_id,
  startedAt: end.started_at,
  takenAt: end.taken_at,
  elapsedMs: end.elapsed_ms,
  outcome: end.outcome as RunOutcome,
  reason: end.reason,
  notes: JSON.parse(end.notes_json),
  rows: parts.flatMap(rows => JSON.parse(rows)),
})
