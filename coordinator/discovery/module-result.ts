import type { ModuleRow, UpstreamSource, UpstreamWarning } from '../../shared/wire/findings.ts'

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
