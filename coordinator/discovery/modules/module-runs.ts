import type { Logger } from 'pino'
import type { DiscoveryModule, ScanModule } from '../../../discovery/module.ts'
import { canonicalHash } from '../../../shared/canonical-hash.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { randomId } from '../../../shared/ids.ts'
import { nextTurn, type Runtime } from '../../../shared/runtime.ts'
import type { CallProgress } from '../../../shared/wire/answer-events.ts'
import type { Fleet } from '../../fleet/cells/fleet.ts'
import type { Budgets } from '../../kernel/budgets/budgets.ts'
import type { FindingsSink } from '../entities/findings-sink.ts'
import { chooseCells } from './choose-cells.ts'
import type { CellResult, RunMetrics } from './module-result.ts'
import type { ModuleResults } from './module-results.ts'
import { type ScanCellParts, scanCell } from './scan-cell.ts'
import { type HeldResult, SharedRuns, type SharedWork } from './shared-runs.ts'

interface ModuleRunsParts extends ScanCellParts {
  runtime: Pick<Runtime, 'setImmediate'>
  fleet: Pick<Fleet, 'cell' | 'cells'>
  budgets: Pick<Budgets, 'moduleRows' | 'moduleRuns'>
  results: Pick<ModuleResults, 'keep'>
  sink: FindingsSink | undefined
  metrics: RunMetrics
  logger: Pick<Logger, 'warn'>
}

/** A caller of a run. */
interface RunCaller {
  /** The cell to run on; every capable one when undefined. */
  cellId: string | undefined
  signal: AbortSignal
  /** `cellId` is that of the cell that goes on. */
  report(progress: CallProgress & { cellId?: string }): void
}

type Scan = Pick<DiscoveryModule, 'id' | 'deadlineSeconds'> & Pick<ScanModule, 'row'>
type Held = HeldResult<CellResult>

/** Cells that one call asks at once. */
const CELLS_AT_ONCE = 64

/** Runs of modules on cells. */
export class ModuleRuns {
  readonly #parts: ModuleRunsParts
  readonly #shared = new SharedRuns<CellResult, CallProgress>()

  constructor(parts: ModuleRunsParts) {
    this.#parts = parts
  }

  /**
   * Runs a module on one cell or on every capable one, and passes the results, in the order of the
   * cells, to `use`. Cells that fail have a result with the reason.
   * @throws ShoalError of the first cell when every cell refused or failed with the same code
   */
  async run<T>(
    module: Scan,
    input: object,
    caller: RunCaller,
    use: (results: readonly CellResult[]) => T,
  ): Promise<T> {
    const { cellId, report } = caller
    const cellIds = chooseCells(this.#parts.fleet, cellId, module.id)
    const held: (Held | undefined)[] = []
    let done = 0
    const ask = async (at: number): Promise<void> => {
      const id = cellIds[at] as string
      held[at] =
        cellId === undefined
          ? await this.#askOneOfMany(module, input, id, caller)
          : await this.#join(module, input, id, caller)
      done++
      report({ done, total: cellIds.length, cellId: id })
    }
    try {
      await forEachAtOnce(cellIds.length, CELLS_AT_ONCE, ask)
      await nextTurn(this.#parts.runtime)
      const results = held.map(each => each?.result).filter(each => each !== undefined)
      throwIfAllRefused(results)
      return use(results)
    } finally {
      for (const each of held) each?.release()
    }
  }

  async #askOneOfMany(
    module: Scan,
    input: object,
    cellId: string,
    caller: RunCaller,
  ): Promise<Held> {
    try {
      return await this.#join(module, input, cellId, caller)
    } catch (error) {
      if (caller.signal.aborted || !(error instanceof ShoalError)) throw error
      const result = createAbsence(cellId, error, this.#parts.now())
      return { result, release: () => {} }
    }
  }

  /** Equal runs on one cell are one run. */
  #join(module: Scan, input: object, cellId: string, caller: RunCaller): Promise<Held> {
    const inputHash = canonicalHash(input)
    const key = `${module.id} ${inputHash} ${cellId}`
    const isAlone = caller.cellId !== undefined
    return this.#shared.join(key, () => this.#createWork(module, input, cellId, inputHash), {
      signal: caller.signal,
      report: progress => isAlone && caller.report({ ...progress, cellId }),
    })
  }

  #createWork(
    module: Scan,
    input: object,
    cellId: string,
    inputHash: string,
  ): SharedWork<CellResult, CallProgress> {
    const { budgets, metrics, now } = this.#parts
    const share = budgets.moduleRows.open({ cell: cellId })
    const place = budgets.moduleRuns.open({ cell: cellId })
    const start: SharedWork<CellResult, CallProgress>['start'] = async (signal, report) => {
      if (!place.take(1)) {
        metrics.discovery.countRun(module.id, 'refused')
        throw new ShoalError('rate_limited', `cell ${cellId} runs too many modules now`)
      }
      try {
        const startedAt = now()
        const scan = { module, input, cellId, share }
        const result = await scanCell(this.#parts, scan, signal, report)
        metrics.discovery.countRun(module.id, outcomeOf(result))
        await this.#record(module, result, { inputHash, startedAt })
        return result
      } catch (error) {
        metrics.discovery.countRun(module.id, 'failed')
        throw error
      } finally {
        place.close()
      }
    }
    return { start, release: () => share.close() }
  }

  /** A result that cannot be stored is answered all the same. */
  async #record(
    { id }: Scan,
    result: CellResult,
    { inputHash, startedAt }: { inputHash: string; startedAt: number },
  ): Promise<void> {
    const { results, sink, logger } = this.#parts
    const { cellId, rows } = result
    const outcome = outcomeOf(result)
    const ids = { cellId, module: id, runId: randomId(), part: 0 }
    const run = { ...ids, startedAt, rows, outcome } as const
    const { warnings, reason, takenAt, elapsedMs } = result
    try {
      await results.keep({ ...run, takenAt, elapsedMs, reason, notes: { warnings } })
      await sink?.record({ ...run, inputHash })
    } catch (error) {
      logger.warn({ cell: cellId, module: id, reason: (error as Error).message }, 'not recorded')
    }
  }
}

const outcomeOf = ({ available }: CellResult) => (available ? 'complete' : 'unavailable')

const throwIfAllRefused = (results: readonly CellResult[]): void => {
  const refusal = results[0]?.refusal
  if (refusal !== undefined && results.every(each => each.refusal?.code === refusal.code))
    throw refusal
}

const createAbsence = (cellId: string, refusal: ShoalError, takenAt: number): CellResult => ({
  cellId,
  available: false,
  reason: refusal.message.slice(0, 500),
  refusal,
  takenAt,
  elapsedMs: null,
  warnings: [],
  rows: [],
})

/** Calls `work` for each index, so many at once. The first failure ends it when the others have. */
const forEachAtOnce = async (
  count: number,
  atOnce: number,
  work: (index: number) => Promise<void>,
): Promise<void> => {
  let next = 0
  const takeTurns = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  const lanes = Array.from({ length: Math.min(atOnce, count) }, takeTurns)
  const settled = await Promise.allSettled(lanes)
  const failed = settled.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}
