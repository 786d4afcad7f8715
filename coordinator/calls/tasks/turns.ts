import type { Logger } from 'pino'
import { errorBody, ShoalError } from '../../../shared/errors.ts'
import type { LiveTask, LiveTaskParts } from './live.ts'
import { dataPart, textPart } from './parts.ts'
import { releaseTasks, TaskElsewhereError } from './take-task.ts'
import type { Task } from './task.ts'
import type { StatusMore, TurnWork } from './turn.ts'

/** Maximum number of concurrent turns, in total and per tenant. */
const MAX_RUNNING = 2000
const MAX_RUNNING_PER_TENANT = 500

export interface TurnParts extends LiveTaskParts {
  logger: Pick<Logger, 'warn' | 'error'>
  /** Runs when this process stops reporting the events of a task. */
  onLeft: (taskId: string) => void
  /** Runs for a task whose turn has ended with unhandled mail. */
  onMail: (taskId: string) => void
}

/** Turns that run in this process, at most one per task. */
export class Turns {
  readonly #parts: TurnParts
  readonly #lives = new Map<string, LiveTask>()
  #isClosing = false

  constructor(parts: TurnParts) {
    this.#parts = parts
  }

  get isClosing(): boolean {
    return this.#isClosing
  }

  get size(): number {
    return this.#lives.size
  }

  get(taskId: string): LiveTask | undefined {
    return this.#lives.get(taskId)
  }

  add(live: LiveTask): void {
    this.#lives.set(live.task.id, live)
  }

  findReportedTask(taskId: string): Task | undefined {
    return this.isRunning(taskId) ? this.#lives.get(taskId)?.reportedTask : undefined
  }

  isRunning(taskId: string): boolean {
    return this.#lives.get(taskId)?.isLost === false
  }

  /**
   * Throws `draining` during shutdown, and `rate_limited` when no further turn of the tenant may
   * run.
   */
  requireRoom(tenantId: string): void {
    if (this.#isClosing) throw new ShoalError('draining', 'the coordinator stops')
    if (this.#lives.size >= MAX_RUNNING)
      throw new ShoalError('rate_limited', `${MAX_RUNNING} tasks run already`)
    if (this.#lives.size < MAX_RUNNING_PER_TENANT) return
    const own = [...this.#lives.values()].filter(({ run }) => run.tenantId === tenantId).length
    if (own >= MAX_RUNNING_PER_TENANT)
      throw new ShoalError('rate_limited', `${own} tasks of this tenant run already`)
  }

  /**
   * Runs one turn to its end. A turn that throws or ends without a result fails the task, except
   * during shutdown.
   */
  async perform(live: LiveTask, work: TurnWork | undefined): Promise<void> {
    await live.waitForFlush()
    const isAtWork = () => !live.isOver && !live.isLost && !this.#isClosing
    try {
      if (isAtWork()) await work?.(live.turn())
      if (isAtWork()) throw new ShoalError('internal', 'the task ended without a result')
    } catch (error) {
      if (!this.#isClosing) this.#fail(live, error)
    }
    await live.waitForFlush()
    this.leave(live)
  }

  /**
   * Ends the turn of a task as cancelled; undefined when no turn of it runs here. Rejects with
   * `TaskElsewhereError` when another process has the task, and with the store's error when the end
   * cannot be stored now, which is retried until it succeeds.
   */
  cancel(taskId: string, actor: string): Promise<void> | undefined {
    const live = this.#lives.get(taskId)
    if (live === undefined || live.isOver || live.isLost) return undefined
    live.status('canceled', cancellationBy(actor))
    live.abort()
    // the turn leaves even when no caller waits for the result
    void live.waitForFlush().then(() => this.leave(live))
    return live.waitForStore()
  }

  leave(live: LiveTask): void {
    const { id } = live.task
    if (this.#lives.get(id) !== live) return
    this.#lives.delete(id)
    this.#parts.onLeft(id)
    if (live.hasMail) this.#parts.onMail(id)
  }

  /** Stops all turns without ending their tasks, and gives them up. */
  async close(): Promise<void> {
    const { ledger, worker, logger } = this.#parts
    this.#isClosing = true
    const lives = [...this.#lives.values()]
    for (const live of lives) live.close()
    await Promise.all(lives.map(live => live.waitForFlush()))
    await releaseTasks(
      ledger,
      lives.map(({ task }) => task.id),
      worker,
    ).catch(error =>
      logger.warn(
        { err: error },
        'the tasks of this coordinator were not released; another coordinator takes them over once its lease expires',
      ),
    )
  }

  #fail(live: LiveTask, thrown: unknown): void {
    const known = thrown instanceof ShoalError
    if (!known) this.#parts.logger.error({ err: thrown, task: live.task.id }, 'a task failed')
    const error = known ? thrown : new ShoalError('internal', 'the coordinator failed on this task')
    live.status('failed', {
      reason: error.code,
      parts: [textPart(error.message), dataPart(errorBody(error))],
    })
  }
}

export const cancellationBy = (actor: string): StatusMore => ({
  actor,
  reason: 'cancelled by the caller',
  run: { waits: undefined },
})

/**
 * Waits for a store; resolves also when another process owns the task, since that process acts on
 * the stored mail.
 */
export const ignoreElsewhere = async (stored: Promise<void> | undefined): Promise<void> => {
  try {
    await stored
  } catch (error) {
    if (!(error instanceof TaskElsewhereError)) throw error
  }
}
