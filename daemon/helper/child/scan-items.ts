import type { ScanModule } from '../../../discovery/module.ts'
import {
  NotPossibleHere,
  type ScanContext,
  type ScanRun,
  type ScanWarningCode,
} from '../../../discovery/scan-run.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { firstIssue } from '../../../shared/first-issue.ts'
import {
  MODULE_REFUSALS,
  ModuleRow,
  ROW_MAX_BYTES,
  RUN_MAX_BYTES,
  type ScanItem,
} from '../../../shared/wire/findings.ts'

/** A module with its program. */
interface Scan {
  module: Pick<ScanModule, 'row' | 'deadlineSeconds'>
  run: ScanRun
}

type Warning = Extract<ScanItem, { type: 'warning' }>

const MAX_WARNINGS = 16
const MAX_TEXT_LENGTH = 500

/**
 * Runs the program of a module and yields its rows. A row that does not fit its schema becomes a
 * warning; at the deadline, or when the rows become too many, the run ends with what it has found.
 */
export async function* scanItems(
  { module, run }: Scan,
  input: never,
  context: Omit<ScanContext, 'warn'>,
): AsyncGenerator<ScanItem, void, void> {
  const { deadlineSeconds } = module
  const deadline = AbortSignal.timeout(deadlineSeconds * 1000)
  const signal = AbortSignal.any([context.signal, deadline])
  const warnings = new Warnings()
  const warn = warnings.add
  let bytes = 0
  try {
    for await (const found of run(input, { ...context, signal, warn })) {
      yield* warnings.take()
      const row = checkRow(module, found, warnings)
      if (row === undefined) continue
      bytes += Buffer.byteLength(JSON.stringify(row))
      if (bytes > RUN_MAX_BYTES) {
        warn('partial_result', `it found more than ${RUN_MAX_BYTES} bytes of rows`)
        break
      }
      yield { type: 'row', row }
    }
  } catch (error) {
    const absence = explainAbsence(error)
    if (absence !== undefined && bytes === 0) yield absence
    else if (!deadline.aborted) warn('partial_result', describeFailure(error, bytes))
  }
  if (deadline.aborted) warn('partial_result', `it was ended after ${deadlineSeconds} s`)
  yield* warnings.take()
}

type Absence = Extract<ScanItem, { type: 'unavailable' }>

/** Reason why the program cannot do what was asked here; undefined for any other failure. */
const explainAbsence = (error: unknown): Absence | undefined => {
  if (!(error instanceof Error)) return undefined
  const absence = { type: 'unavailable', reason: error.message.slice(0, MAX_TEXT_LENGTH) } as const
  if (error instanceof NotPossibleHere) return absence
  const code = MODULE_REFUSALS.find(each => error instanceof ShoalError && error.code === each)
  return code === undefined ? undefined : { ...absence, code }
}

/** A program that failed before its first row has no result; throws its error then. */
const describeFailure = (error: unknown, bytes: number): string => {
  if (bytes === 0) throw error
  return `it failed: ${error instanceof Error ? error.message : String(error)}`
}

const checkRow = (
  { row: schema }: Pick<ScanModule, 'row'>,
  found: object,
  warnings: Warnings,
): ModuleRow | undefined => {
  const { data, error } = schema.safeParse(found)
  const bytes = data === undefined ? 0 : Buffer.byteLength(JSON.stringify(data))
  if (error === undefined && bytes <= ROW_MAX_BYTES) return ModuleRow.parse(data)
  const why = error === undefined ? `it has ${bytes} bytes` : firstIssue(error, found).message
  warnings.add('unparsed_record', `a row was skipped: ${why}`)
  return undefined
}

/** Warnings that were not sent yet, and a bound on all of them. */
class Warnings {
  #added = 0
  #waiting: Warning[] = []

  add = (code: ScanWarningCode, message: string): void => {
    if (this.#added >= MAX_WARNINGS) return
    this.#added++
    this.#waiting.push({ type: 'warning', code, message: message.slice(0, MAX_TEXT_LENGTH) })
  }

  take(): Warning[] {
    const taken = this.#waiting
    this.#waiting = []
    return taken
  }
}
