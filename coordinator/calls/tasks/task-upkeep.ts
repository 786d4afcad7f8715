import type { Logger } from 'pino'
import type { Runtime } from '../../../shared/runtime.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { Tasks } from './tasks.ts'

interface TaskUpkeepParts {
  tasks: Pick<Tasks, 'look'>
  events: Pick<Events, 'subscribe'>
  logger: Pick<Logger, 'warn'>
  runtime: Pick<Runtime, 'setImmediate'>
}

/** Looks for tasks that can continue, when asked and after each decision at a gate. */
export class TaskUpkeep {
  readonly #parts: TaskUpkeepParts
  readonly #stops: (() => void)[]
  #looking: Promise<void> | undefined
  #lookAgain = false

  constructor(parts: TaskUpkeepParts) {
    this.#parts = parts
    // the turn that asked a gate has only just ended: its task is released a moment later
    const lookSoon = (): void => void parts.runtime.setImmediate(() => this.look())
    this.#stops = ['shoal.gate.', 'shoal.task.auth-required'].map(type =>
      parts.events.subscribe(type, lookSoon),
    )
  }

  /** Resolves after a check that started no earlier than this call; never rejects. */
  look(): Promise<void> {
    this.#lookAgain = true
    this.#looking ??= this.#lookUntilDone()
    return this.#looking
  }

  close(): void {
    for (const stop of this.#stops) stop()
  }

  async #lookUntilDone(): Promise<void> {
    const { tasks, logger } = this.#parts
    while (this.#lookAgain) {
      this.#lookAgain = false
      await tasks
        .look()
        .catch(error => logger.warn({ err: error }, 'tasks to resume could not be read'))
    }
    // in the step that finds nothing more to do: a later call must not join a look that is over
    this.#looking = undefined
  }
}
