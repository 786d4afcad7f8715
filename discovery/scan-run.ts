import type { CallProgress } from '../shared/wire/answer-events.ts'
import type { ScanScope } from '../shared/wire/scan-scope.ts'

/** What the program of a scan gets beside its input. It runs in a helper process. */
export interface ScanContext {
  /** Aborts at the deadline, or when nobody waits any more: everything it opened must end. */
  signal: AbortSignal
  report(progress: CallProgress): void
  /** Targets that may be contacted. Every packet to another machine needs `requireInScope`. */
  scope: ScanScope
  /**
   * Section `discovery.modules.<id>` of the cell's configuration, checked by `config` of the
   * program: credentials come from here and never from input.
   */
  config: unknown
  /** Reports something that the reader of the rows should know; at most 16. */
  warn(code: ScanWarningCode, message: string): void
}

export type ScanWarningCode = 'out_of_scope' | 'partial_result' | 'auth_missing' | 'unparsed_record'

/** Program of a scan: yields rows as it finds them. */
export type ScanRun<I = never, R = object> = (
  input: I,
  context: ScanContext,
) => AsyncIterable<R> | Iterable<R>

/** Thrown by a program when this machine cannot run it: no adapter, no permission, no program. */
export class NotPossibleHere extends Error {
  override readonly name = 'NotPossibleHere'
}
