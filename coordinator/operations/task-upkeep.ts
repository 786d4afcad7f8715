import type { Logger } from 'pino'
import type { Events } from '../events/bus.ts'
import type { Tasks } from '../tasks/tasks.ts'

export interface TaskUpkeepParts {
  tasks: Pick<Tasks, 'look' | 'drop'>
  events: Pick<Events, 'subscribe'>
  /** Days for which tasks are kept after their end. */
  keptDays: number
  logger: Pick<Logger, 'warn'>
  now: () => number
}

/**
 * Interval of checks for tasks that can continue: other processes decide without an event here, or
 * terminate in the middle of a task.
 */
const LOOK_EVERY_MS = 5000
const DROP_EVERY_MS = 600_000
const DAY_MS = 86_400_000

/** Looks for tasks that can go on, now and then and when something was decided, and drops old ones. */
export class TaskUpkeep {
  readonly #parts: TaskUpkeepParts
  readonly #timers: NodeJS.Timeout[]
  readonly #stops: (() => void)[]
  #looking: Promise<void> | undefined
  #lookAgain = false

  constructor(parts: TaskUpkeepParts) {
    this.#parts = parts
    // the turn that asked a gate has only just ended: its task is released a moment later
    const lookSoon = (): void => void setImmediate(() => this.look())
    this.#stops = ['shoal.gate.', 'shoal.task.auth-required'].map(type =>
      parts.events.subscribe(type, lookSoon),
    )
    this.#timers = [
      setInterval(() => void this.look(), LOOK_EVERY_MS),
      setInterval(() => void this.#drop(), DROP_EVERY_MS),
    ]
    for (const timer of this.#timers) timer.unref()
  }

  /** Resolves after a check that started no earlier than this call; never rejects. */
  look(): Promise<void> {
    this.#lookAgain = true
    this.#looking ??= this.#lookUntilDone()
    return this.#looking
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer)
    for (const stop of this.#stops) stop()
  }

  async #lookUntilDone(): Promise<void> {
    const { tasks, logger } = this.#parts
    while (this.#lookAgain) {
      this.#lookAgain = false
      await tasks
        .look()
        .catch(error => logger.warn({ err: error }, 'tasks that can go on were not found'))
    }
    // in the step that finds nothing more to do: a later call must not join a look that is over
    this.#looking = undefined
  }

  async #drop(): Promise<void> {
    const { tasks, keptDays, logger, now } = this.#parts
    await tasks
      .drop(now() - keptDays * DAY_MS)
      .catch(error => logger.warn({ err: error }, 'old tasks were not deleted'))
  }
}
