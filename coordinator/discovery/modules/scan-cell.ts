import { concealRow, concealText } from '../../../discovery/entities/conceal-row.ts'
import type { Pseudonyms } from '../../../discovery/entities/pseudonyms.ts'
import type { ScanModule } from '../../../discovery/module.ts'
import { type ErrorDetails, ShoalError } from '../../../shared/errors.ts'
import type { CallProgress } from '../../../shared/wire/answer-events.ts'
import {
  MODULE_QUESTION_PATH,
  type ModuleRow,
  RUN_MAX_BYTES,
  ScanItem,
} from '../../../shared/wire/findings.ts'
import type { Fleet } from '../../fleet/cells/fleet.ts'
import { streamFromCell } from '../../fleet/questions/stream-from-cell.ts'
import type { Share } from '../../kernel/budgets/budget.ts'
import type { CellResult, ModuleWarning } from './module-result.ts'

export interface ScanCellParts {
  fleet: Pick<Fleet, 'cell'>
  pseudonyms: Pseudonyms
  /** Unix milliseconds. */
  now: () => number
  /** Monotonic milliseconds. */
  nowMs: () => number
}

interface CellScan {
  module: Pick<ScanModule, 'id' | 'row' | 'deadlineSeconds'>
  input: object
  cellId: string
  /** Memory of the rows. */
  share: Share
}

/** Time beside that of the run: a place in the helper, and the way there and back. */
const EXTRA_SECONDS = 25
/** Frames around the rows of an answer. */
const FRAME_BYTES = 4 * 1024 * 1024
const MAX_WARNINGS = 32

/** The items of a run as they come, and what is kept of them. */
class Collected {
  readonly rows: ModuleRow[] = []
  readonly warnings: ModuleWarning[] = []
  absence: Pick<CellResult, 'reason' | 'refusal'> | undefined
  readonly #scan: CellScan
  readonly #pseudonyms: Pseudonyms

  constructor(scan: CellScan, pseudonyms: Pseudonyms) {
    this.#scan = scan
    this.#pseudonyms = pseudonyms
  }

  /** Returns false when there is no memory for more. */
  add(item: ScanItem): boolean {
    if (item.type === 'unavailable') this.absence = this.#toAbsence(item)
    else if (item.type === 'warning') this.warn(item.code, item.message)
    else return this.#addRow(item.row)
    return true
  }

  warn(code: string, message: string): void {
    if (this.warnings.length < MAX_WARNINGS)
      this.warnings.push({
        code,
        message: concealText(message, this.#pseudonyms).slice(0, 500),
      })
  }

  #toAbsence(item: Extract<ScanItem, { type: 'unavailable' }>): Collected['absence'] {
    const reason = concealText(item.reason, this.#pseudonyms)
    const { code } = item
    return {
      reason,
      ...(code !== undefined && { refusal: new ShoalError(code, reason, refusalDetails(code)) }),
    }
  }

  /** A cell is not trusted to send what its version of the module declares. */
  #addRow(given: ModuleRow): boolean {
    const { module, share } = this.#scan
    const { data, success } = module.row.safeParse(given)
    if (!success) this.warn('unparsed_record', 'the cell sent a row of another form')
    else if (!share.take(Buffer.byteLength(JSON.stringify(data)))) {
      this.warn('partial_result', 'the coordinator has no memory for more rows')
      return false
    } else this.rows.push(concealRow(module.id, data as ModuleRow, this.#pseudonyms))
    return true
  }
}

/**
 * Runs a module on one cell. Rows that came before a failure are kept, with a warning.
 * @throws ShoalError as `streamFromCell` does when the cell gave nothing
 */
export const scanCell = async (
  { fleet, pseudonyms, now, nowMs }: ScanCellParts,
  scan: CellScan,
  signal: AbortSignal,
  report: (progress: CallProgress) => void,
): Promise<CellResult> => {
  const { module, input, cellId } = scan
  const startedMs = nowMs()
  const question = {
    path: `${MODULE_QUESTION_PATH}${module.id}`,
    body: { input },
    what: `module ${module.id}`,
    maxBytes: RUN_MAX_BYTES + FRAME_BYTES,
    maxSeconds: module.deadlineSeconds + EXTRA_SECONDS,
  }
  const collected = new Collected(scan, pseudonyms)
  try {
    for await (const event of streamFromCell(fleet, cellId, question, signal)) {
      if (event.type === 'progress') report(event.progress)
      else if (!collected.add(ScanItem.parse(event.value))) break
    }
  } catch (error) {
    if (collected.rows.length === 0 || signal.aborted) throw toCellError(cellId, error as Error)
    collected.warn('partial_result', (error as Error).message)
  }
  const { rows, warnings, absence } = collected
  return {
    cellId,
    available: absence === undefined,
    reason: null,
    ...absence,
    takenAt: now(),
    elapsedMs: Math.round(nowMs() - startedMs),
    warnings,
    rows: absence === undefined ? rows : [],
  }
}

/** An item of another form is a fault of the cell. */
const toCellError = (cellId: string, cause: Error): Error =>
  cause.name === 'ZodError'
    ? new ShoalError('cell_unavailable', `cell ${cellId} sent an invalid finding`, { cause })
    : cause

/** The message of a refused target names the command that adds it to the scope. */
const refusalDetails = (code: string): ErrorDetails =>
  code === 'scope_denied' ? { reason: 'discovery_scope' } : {}
