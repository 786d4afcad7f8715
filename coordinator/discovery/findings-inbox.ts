import type { Logger } from 'pino'
import { type DiscoveryModule, isScan, type ScanModule } from '../../discovery/module.ts'
import type { Wait } from '../../shared/wait.ts'
import { type FindingsBody, type ModuleRow, ROW_MAX_BYTES } from '../../shared/wire/findings.ts'
import type { Share } from '../budgets/budget.ts'
import type { Budgets } from '../budgets/budgets.ts'
import type { FindingsSink } from './findings-sink.ts'
import type { ModuleResults } from './module-results.ts'

/** Receiver of the findings of scheduled runs. */
export interface FindingsEars {
  /** Throws for a message that is refused: of an unknown module, too fast, or without room. */
  onFindings(cellId: string, body: FindingsBody): void
}

interface FindingsInboxParts {
  modules: readonly DiscoveryModule[]
  results: Pick<ModuleResults, 'keepPart'>
  sink: FindingsSink | undefined
  budgets: Pick<Budgets, 'waitingFindings'>
  /** Unix milliseconds. */
  now: () => number
  /** Monotonic milliseconds. */
  nowMs: () => number
  wait: Wait
  logger: Pick<Logger, 'warn'>
}

/** Messages of one cell that wait to be stored, in the order of their arrival. */
interface CellQueue {
  bodies: FindingsBody[]
  share: Share
  /** Time from which all messages so far fit the rate, monotonic milliseconds. */
  paidUntilMs: number
}

/** Messages a second of one cell, over time, and how many may come at once. */
const PER_SECOND = 20
const BURST = 600
/** Most waits for a store that fails, from one second to half a minute: ten minutes together. */
const MAX_TRIES = 25
const MAX_WAIT_MS = 30_000

/**
 * Checks the findings that cells send, and stores them in the order of each cell. While the store
 * fails they wait, within a bound; a part that arrives twice is stored once.
 */
export class FindingsInbox implements FindingsEars, AsyncDisposable {
  readonly #parts: FindingsInboxParts
  readonly #scans: ReadonlyMap<string, ScanModule>
  readonly #queues = new Map<string, CellQueue>()
  readonly #work = new Set<Promise<void>>()
  readonly #closed = new AbortController()

  constructor(parts: FindingsInboxParts) {
    this.#parts = parts
    this.#scans = new Map(
      parts.modules.flatMap(module => (isScan(module) ? [[module.id, module] as const] : [])),
    )
  }

  onFindings(cellId: string, body: FindingsBody): void {
    if (!this.#scans.has(body.module)) throw new Error(`there is no module ${body.module}`)
    const queue = this.#queues.get(cellId) ?? this.#open(cellId)
    this.#pay(queue)
    if (!queue.share.take(Buffer.byteLength(JSON.stringify(body))))
      throw new Error('too many findings wait to be stored')
    queue.bodies.push(body)
    if (queue.bodies.length > 1) return
    const work = this.#storeAll(cellId, queue)
    this.#work.add(work)
    void work.finally(() => this.#work.delete(work))
  }

  /** Stores what has arrived, with one more try each. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort()
    await Promise.all(this.#work)
  }

  #open(cellId: string): CellQueue {
    const share = this.#parts.budgets.waitingFindings.open({ cell: cellId })
    const queue = { bodies: [], share, paidUntilMs: Number.NEGATIVE_INFINITY }
    this.#queues.set(cellId, queue)
    return queue
  }

  #pay(queue: CellQueue): void {
    const now = this.#parts.nowMs()
    const from = Math.max(queue.paidUntilMs, now)
    if (from - now > (BURST / PER_SECOND) * 1000) throw new Error('findings come too fast')
    queue.paidUntilMs = from + 1000 / PER_SECOND
  }

  async #storeAll(cellId: string, queue: CellQueue): Promise<void> {
    for (let body = queue.bodies[0]; body !== undefined; body = queue.bodies[0]) {
      await this.#storeOne(cellId, body)
      queue.bodies.shift()
      queue.share.give(Math.min(queue.share.held, Buffer.byteLength(JSON.stringify(body))))
    }
    if (queue.paidUntilMs <= this.#parts.nowMs()) this.#queues.delete(cellId)
  }

  async #storeOne(cellId: string, body: FindingsBody): Promise<void> {
    const { wait, logger } = this.#parts
    for (let tries = 1; ; tries++)
      try {
        await this.#record(cellId, body)
        return
      } catch (error) {
        const { message: reason } = error as Error
        if (tries === MAX_TRIES || this.#closed.signal.aborted) {
          logger.warn({ cell: cellId, module: body.module, reason }, 'findings not stored')
          return
        }
        await wait(Math.min(MAX_WAIT_MS, 1000 * 2 ** (tries - 1)), this.#closed.signal)
      }
  }

  async #record(cellId: string, body: FindingsBody): Promise<void> {
    const { results, sink, now } = this.#parts
    const { module, run_id: runId, part, started_at: startedAt, end } = body
    const { rows, refused } = this.#checkRows(body)
    const outcome = end?.outcome
    const run = { cellId, module, runId, startedAt, rows, outcome }
    const warnings =
      refused === 0 ? [] : [{ code: 'unparsed_record', message: `${refused} rows were left out` }]
    const facts = { takenAt: now(), elapsedMs: null, reason: end?.reason ?? null }
    await results.keepPart({ ...run, ...facts, part, notes: { warnings } })
    await sink?.record({ ...run, inputHash: body.input_hash })
  }

  #checkRows({ module, rows }: FindingsBody): { rows: ModuleRow[]; refused: number } {
    const schema = this.#scans.get(module)?.row
    const good = rows.flatMap(given => {
      const { data, success } = schema?.safeParse(given) ?? { success: false }
      const isGood = success && Buffer.byteLength(JSON.stringify(data)) <= ROW_MAX_BYTES
      return isGood ? [data as ModuleRow] : []
    })
    return { rows: good, refused: rows.length - good.length }
  }
}
