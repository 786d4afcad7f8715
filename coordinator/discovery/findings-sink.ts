import type { ModuleRow } from '../../shared/wire/findings.ts'

/** How a run ended. `unavailable`: not possible on that machine; `failed`: it was cut off. */
export type RunOutcome = 'complete' | 'unavailable' | 'failed'

/** Rows of one run of a module, or of one part of it. */
export interface RecordedRows {
  /** Cell that ran the module; undefined for a lookup, which runs on the coordinator. */
  cellId: string | undefined
  /** Id of the module. */
  module: string
  /** Id of the run, the same in all its parts. A part may arrive again: recording is repeatable. */
  runId: string
  /** Hash of the input: only runs with equal input can be compared. */
  inputHash: string
  /** Start of the run, Unix milliseconds by the clock of its machine. */
  startedAt: number
  /** Rows that fit the row schema of the module; `data` of a lookup is its only row. */
  rows: readonly ModuleRow[]
  /** Undefined while more parts of the run are to come. */
  outcome: RunOutcome | undefined
}

/** Takes what modules found, of runs that somebody asked for and of those on a schedule. */
export interface FindingsSink {
  /** Resolves when the rows are stored. After a rejection it is called again with the same rows. */
  record(found: RecordedRows): Promise<void>
}
