import type { Logger } from 'pino'
import { concealRow, concealText } from '../../../discovery/entities/conceal-row.ts'
import type { Pseudonyms } from '../../../discovery/entities/pseudonyms.ts'
import { type DiscoveryModule, isScan, type ScanModule } from '../../../discovery/module.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { type FindingsBody, type ModuleRow, ROW_MAX_BYTES } from '../../../shared/wire/findings.ts'
import type { FindingsReceiver } from '../../fleet/broker/receivers.ts'
import { throttleById } from '../../kernel/base/at-most-every.ts'
import { createBoundedCache } from '../../kernel/base/bounded-cache.ts'
import type { Budgets } from '../../kernel/budgets/budgets.ts'
import { losesTransaction } from '../../kernel/store/faults.ts'
import type { AutoRunUses } from '../modules/auto-run-uses.ts'
import { CellRates } from '../modules/cell-rates.ts'
import type { RunMetrics } from '../modules/module-result.ts'
import type { ModuleResults } from '../modules/module-results.ts'
import type { FindingsSink, Recording } from './findings-sink.ts'

export interface FindingsInboxParts {
  modules: readonly DiscoveryModule[]
  results: Pick<ModuleResults, 'keepPart'>
  sink: FindingsSink | undefined
  pseudonyms: Pseudonyms
  budgets: Pick<Budgets, 'waitingFindings'>
  uses: Pick<AutoRunUses, 'note'>
  metrics: RunMetrics & { discovery: { countMessage(outcome: MessageOutcome): void } }
  /** Unix milliseconds. */
  now: () => number
  /** Monotonic milliseconds. */
  nowMs: () => number
  logger: Pick<Logger, 'warn' | 'error'>
}

/** `repeated`: it was stored before; `unconfirmed`: the cell sends it again. */
type MessageOutcome = 'stored' | 'repeated' | 'unconfirmed' | 'dropped'

/** Messages of one cell. The daemon sends at most 1,000: one in 60 ms. */
const MESSAGES_PER_MINUTE = 1200
/**
 * Attempts to store a message that fails although the store works. Then it is dropped: the cell
 * sends nothing else before it is confirmed.
 */
const MAX_ATTEMPTS = 3
const MAX_CELLS = 20_000
/** A cell that sends too much must not fill the log as well. */
const LOG_EVERY_MS = 10_000

/**
 * Checks the findings that cells send, and stores them in the order of each cell. It keeps nothing
 * that the store refuses: the cell still has it on its disk.
 */
export class FindingsInbox implements FindingsReceiver, AsyncDisposable {
  readonly #parts: FindingsInboxParts
  readonly #scans: ReadonlyMap<string, ScanModule>
  readonly #rates = new CellRates(MESSAGES_PER_MINUTE)
  /** The newest message of each cell that is being stored; it never rejects. */
  readonly #last = new Map<string, Promise<void>>()
  /** The message of each cell that has failed last, and how often. */
  readonly #failed = createBoundedCache<string, { message: string; times: number }>(MAX_CELLS)
  readonly #logUnconfirmed: (about: { id: string; module: string; reason: string }) => void
  #isClosed = false

  constructor(parts: FindingsInboxParts) {
    this.#parts = parts
    this.#logUnconfirmed = throttleById(LOG_EVERY_MS, parts.nowMs, ({ id: cell, ...why }) =>
      parts.logger.warn({ cell, ...why }, 'findings not confirmed'),
    )
    this.#scans = new Map(
      parts.modules.flatMap(module => (isScan(module) ? [[module.id, module] as const] : [])),
    )
  }

  async onFindings(cellId: string, body: FindingsBody): Promise<void> {
    const { metrics, logger } = this.#parts
    const { module } = body
    try {
      await this.#receive(cellId, body)
    } catch (error) {
      const { message: reason } = error as Error
      if (!canPass(error) && this.#countFailure(cellId, body) >= MAX_ATTEMPTS) {
        metrics.discovery.countMessage('dropped')
        logger.error({ cell: cellId, module, err: error }, 'findings that cannot be stored dropped')
        return
      }
      metrics.discovery.countMessage('unconfirmed')
      this.#logUnconfirmed({ id: cellId, module, reason })
      throw error
    }
  }

  /** Returns how often the message has failed in a row. */
  #countFailure(cellId: string, { run_id, part }: FindingsBody): number {
    const message = `${run_id} ${part}`
    const last = this.#failed.get(cellId)
    const times = last?.message === message ? last.times + 1 : 1
    this.#failed.set(cellId, { message, times })
    return times
  }

  /** Resolves when no message is being stored. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await Promise.all(this.#last.values())
  }

  async #receive(cellId: string, body: FindingsBody): Promise<void> {
    const { budgets, metrics, logger, now } = this.#parts
    const { module } = body
    if (this.#isClosed) throw new ShoalError('store_unavailable', 'the coordinator is stopping')
    if (!this.#rates.take(cellId, 1, now()))
      throw new ShoalError('rate_limited', 'findings arrive too fast')
    if (!this.#scans.has(module)) {
      metrics.discovery.countMessage('dropped')
      logger.warn({ cell: cellId, module }, 'findings of an unknown module dropped')
      return
    }
    const share = budgets.waitingFindings.open({ cell: cellId })
    if (!share.take(Buffer.byteLength(JSON.stringify(body))))
      throw new ShoalError('rate_limited', 'too many findings wait to be stored')
    try {
      const recording = await this.#inTurn(cellId, () => this.#record(cellId, body))
      metrics.discovery.countMessage(recording === 'stored' ? 'repeated' : 'stored')
      if (recording !== 'stored' && body.end !== undefined) this.#noteEnd(cellId, module, body.end)
    } finally {
      share.close()
    }
  }

  #noteEnd(
    cellId: string,
    module: string,
    { outcome, use }: NonNullable<FindingsBody['end']>,
  ): void {
    this.#parts.metrics.discovery.countRun(module, outcome)
    if (use !== undefined) this.#parts.uses.note(cellId, use)
  }

  /** Runs one work of a cell after the other. */
  #inTurn<T>(cellId: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#last.get(cellId) ?? Promise.resolve()).then(work)
    const settled = done.then(
      () => {},
      () => {},
    )
    this.#last.set(cellId, settled)
    return done.finally(() => {
      if (this.#last.get(cellId) === settled) this.#last.delete(cellId)
    })
  }

  async #record(cellId: string, body: FindingsBody): Promise<Recording> {
    const { results, sink, pseudonyms, now } = this.#parts
    const { module, run_id: runId, part, started_at: startedAt, end } = body
    const { rows, refused } = this.#checkRows(body)
    const run = { cellId, module, runId, part, startedAt, rows, outcome: end?.outcome }
    const warnings =
      refused === 0 ? [] : [{ code: 'unparsed_record', message: `${refused} rows were skipped` }]
    const reason = end?.reason ? concealText(end.reason, pseudonyms) : null
    const facts = { takenAt: now(), elapsedMs: null, reason }
    await results.keepPart({ ...run, ...facts, notes: { warnings } })
    return (await sink?.record({ ...run, inputHash: body.input_hash })) ?? 'new'
  }

  #checkRows({ module, rows }: FindingsBody): { rows: ModuleRow[]; refused: number } {
    const schema = this.#scans.get(module)?.row
    const good = rows.flatMap(given => {
      const { data, success } = schema?.safeParse(given) ?? { success: false }
      const isGood = success && Buffer.byteLength(JSON.stringify(data)) <= ROW_MAX_BYTES
      return isGood ? [concealRow(module, data as ModuleRow, this.#parts.pseudonyms)] : []
    })
    return { rows: good, refused: rows.length - good.length }
  }
}

/** True for a failure that passes without a change of the message. */
const canPass = (error: unknown): boolean =>
  losesTransaction(error) ||
  (error instanceof ShoalError && ['store_unavailable', 'rate_limited'].includes(error.code))
