import type { Task } from '@a2a-js/sdk'
import type { Logger } from 'pino'
import { errorBody, ShoalError } from '../../shared/errors.ts'
import { LEASE_MS, type Lease, TaskElsewhere } from './lease.ts'
import type { Live, LiveParts } from './live.ts'
import { dataPart, textPart } from './parts.ts'
import { TaskState } from './task-state.ts'
import type { StatusMore, Work } from './turn.ts'

/** Turns that run at one time, and of one tenant. */
export const MAX_RUNNING = 2000
export const MAX_RUNNING_PER_TENANT = 500

export interface TurnParts extends LiveParts {
  lease: Lease
  logger: Pick<Logger, 'warn' | 'error'>
  /** From now on what happens to the task is not told here. */
  left: (taskId: string) => void
  /** Called for a task that has left with mail that nobody has acted on. */
  mailed: (taskId: string) => void
}

/** The turns that run in this process; each task has at most one. */
export class Turns {
  readonly #parts: TurnParts
  readonly #lives = new Map<string, Live>()
  readonly #beating: NodeJS.Timeout
  #isClosing = false

  constructor(parts: TurnParts) {
    this.#parts = parts
    this.#beating = setInterval(() => void this.#beat(), LEASE_MS / 3).unref()
  }

  get isClosing(): boolean {
    return this.#isClosing
  }

  get size(): number {
    return this.#lives.size
  }

  get(taskId: string): Live | undefined {
    return this.#lives.get(taskId)
  }

  add(live: Live): void {
    this.#lives.set(live.task.id, live)
  }

  toldTask(taskId: string): Task | undefined {
    return this.isRunning(taskId) ? this.#lives.get(taskId)?.toldTask : undefined
  }

  isRunning(taskId: string): boolean {
    return this.#lives.get(taskId)?.isLost === false
  }

  /** Throws `draining`, and `rate_limited` where no further turn of the tenant may run. */
  requireRoom(tenantId: string): void {
    if (this.#isClosing) throw new ShoalError('draining', 'the coordinator stops')
    if (this.#lives.size >= MAX_RUNNING)
      throw new ShoalError('rate_limited', `${MAX_RUNNING} tasks run already`)
    if (this.#lives.size < MAX_RUNNING_PER_TENANT) return
    const own = [...this.#lives.values()].filter(({ run }) => run.tenantId === tenantId).length
    if (own >= MAX_RUNNING_PER_TENANT)
      throw new ShoalError('rate_limited', `${own} tasks of this tenant run already`)
  }

  /** Runs one turn to its end; its task always has a state that somebody can act on. */
  async perform(live: Live, work: Work | undefined): Promise<void> {
    await live.flushed()
    const isAtWork = () => !live.isOver && !live.isLost && !this.#isClosing
    try {
      if (isAtWork()) await work?.(live.turn())
      if (isAtWork()) throw new ShoalError('internal', 'the task ended without a result')
    } catch (error) {
      if (!this.#isClosing) this.#fail(live, error)
    }
    await live.flushed()
    this.leave(live)
  }

  /**
   * Ends the turn of a task as cancelled; undefined when none is at work here. Rejects with
   * `TaskElsewhere` when another process has the task, else when its end cannot be stored now: it
   * is tried until it is.
   */
  cancel(taskId: string, actor: string): Promise<void> | undefined {
    const live = this.#lives.get(taskId)
    if (live === undefined || live.isOver || live.isLost) return undefined
    live.status(TaskState.TASK_STATE_CANCELED, cancellationBy(actor))
    live.abort()
    // also when nobody waits for it any more
    void live.flushed().then(() => this.leave(live))
    return live.stored()
  }

  leave(live: Live): void {
    const { id } = live.task
    if (this.#lives.get(id) !== live) return
    this.#lives.delete(id)
    this.#parts.left(id)
    if (live.hasMail) this.#parts.mailed(id)
  }

  /** Stops all turns without an end, and lets go of what this process owns. */
  async close(): Promise<void> {
    const { ledger, lease, logger } = this.#parts
    this.#isClosing = true
    clearInterval(this.#beating)
    const lives = [...this.#lives.values()]
    for (const live of lives) live.close()
    await Promise.all(lives.map(live => live.flushed()))
    await ledger.free
      .write(lease.end)
      .catch(error => logger.warn({ err: error }, 'tasks were not let go'))
  }

  #fail(live: Live, thrown: unknown): void {
    const known = thrown instanceof ShoalError
    if (!known) this.#parts.logger.error({ err: thrown, task: live.task.id }, 'a task failed')
    const error = known ? thrown : new ShoalError('internal', 'the coordinator failed on this task')
    live.status(TaskState.TASK_STATE_FAILED, {
      reason: error.code,
      parts: [textPart(error.message), dataPart(errorBody(error))],
    })
  }

  async #beat(): Promise<void> {
    const { ledger, lease, logger } = this.#parts
    if (this.#lives.size === 0) return
    await ledger.free
      .write(lease.keep)
      .catch(error => logger.warn({ err: error }, 'this process could not say that it runs tasks'))
  }
}

export const cancellationBy = (actor: string): StatusMore => ({
  actor,
  reason: 'cancelled by the caller',
  run: { waits: undefined },
})

/** Resolves where another process owns the task: it acts on what is in the store. */
export const unlessElsewhere = async (stored: Promise<void> | undefined): Promise<void> => {
  try {
    await stored
  } catch (error) {
    if (!(error instanceof TaskElsewhere)) throw error
  }
}
