import type { ShoalError } from '../../../shared/errors.ts'
import type { ModuleRow, UpstreamSource, UpstreamWarning } from '../../../shared/wire/findings.ts'
import type { RunOutcome } from '../entities/findings-sink.ts'

/** Counts runs of modules by how they ended; `refused` when too many were under way. */
export interface RunMetrics {
  discovery: { countRun(module: string, status: RunOutcome | 'refused'): void }
}

export interface ModuleWarning {
  code: string
  message: string
}

/** Result of a module on one cell. */
export interface CellResult {
  cellId: string
  /** False when the cell could not run it; it has no rows then. */
  available: boolean
  /** Why it is not available, or why it is not complete. */
  reason: string | null
  /** Error of a cell that refused or failed; undefined for a machine that cannot run the module. */
  refusal?: ShoalError
  /** End of the run, unix milliseconds. */
  takenAt: number
  elapsedMs: number | null
  warnings: readonly ModuleWarning[]
  rows: readonly ModuleRow[]
}

/** Result of a lookup. */
export interface LookupResult {
  data: unknown
  sources: readonly UpstreamSource[]
  warnings: readonly UpstreamWarning[]
  /** End of the run, unix milliseconds. */
  takenAt: number
}
