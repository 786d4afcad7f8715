import type * as z from 'zod'
import type { ScanModule } from '../../discovery/module.ts'
import type { ScanContext, ScanWarningCode } from '../../discovery/scan-run.ts'
import type { ScopeEntry } from '../../shared/wire/scan-scope.ts'

interface ContextOptions {
  /** Scope besides loopback. */
  entries?: ScopeEntry[]
  config?: unknown
  signal?: AbortSignal
  onWarning?: (code: ScanWarningCode, message: string) => void
}

/** Context of a scan as a cell gives it to a program. */
export const createScanContext = (options: ContextOptions): ScanContext => ({
  signal: options.signal ?? new AbortController().signal,
  scope: { entries: options.entries ?? [] },
  config: options.config,
  report: () => {},
  warn: options.onWarning ?? (() => {}),
})

/** Reads all rows of a program, each checked against the declaration of its module. */
export const listRows = async <R extends object>(
  module: ScanModule,
  rows: AsyncIterable<R> | Iterable<R>,
): Promise<R[]> => {
  const list: R[] = []
  for await (const row of rows) {
    ;(module.row as z.ZodType).parse(row)
    list.push(row)
  }
  return list
}
