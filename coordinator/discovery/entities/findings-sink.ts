import type { ModuleRow } from '../../../shared/wire/findings.ts'

/** End of a run. `unavailable`: not possible on that machine; `failed`: it was cut off. */
export const RUN_OUTCOMES = ['complete', 'unavailable', 'failed'] as const
export type RunOutcome = (typeof RUN_OUTCOMES)[number]

/** Rows of one run of a module, or of one part of it. */
export interface RecordedRows {
  /** Cell that ran the module; undefined for a lookup, which runs on the coordinator. */
  cellId: string | undefined
  /** Id of the module. */
  module: string
  /** Id of the run, the same in all its parts. A part may arrive again: it is recorded once. */
  runId: string
  /** Number of the part within the run, from 0. */
  part: number
  /** Hash of the input: only runs with equal input can be compared. */
  inputHash: string
  /** Start of the run, Unix milliseconds. */
  startedAt: number
  /** Rows that fit the row schema of the module; `data` of a lookup is its only row. */
  rows: readonly ModuleRow[]
  /** Undefined while more parts of the run are to come. */
  outcome: RunOutcome | undefined
}

/** Outcome of recording; `stored` is a part that was recorded before. */
export type Recording = 'new' | 'stored' | 'late'

/** Takes what modules found, of runs that somebody asked for and of those on a schedule. */
export interface FindingsSink {
  /** Resolves when the rows are committed. After a rejection the same rows may come again. */
  record(found: RecordedRows): Promise<Recording>
}
