import type { Logger } from 'pino'
import { type Runtime, stopTimer } from '../../../shared/runtime.ts'
import type { PeriodicWork } from './base.ts'

interface TimerParts {
  stack: Pick<AsyncDisposableStack, 'defer'>
  logger: Pick<Logger, 'warn'>
  runtime: Pick<Runtime, 'setInterval'>
}

/** Schedules in this process alone, without jitter. */
export class Timers implements PeriodicWork {
  readonly #parts: TimerParts
  readonly #running = new Map<string, Promise<unknown> | undefined>()

  constructor(parts: TimerParts) {
    this.#parts = parts
  }

  every: PeriodicWork['every'] = (name, seconds, run) => {
    if (this.#running.has(name)) throw new TypeError(`two schedules are named ${name}`)
    this.#running.set(name, undefined)
    const { stack, runtime } = this.#parts
    const timer = runtime.setInterval(() => this.#start(name, run), seconds * 1000).unref()
    stack.defer(async () => {
      stopTimer(timer)
      await this.#running.get(name)
    })
  }

  #start(name: string, run: () => unknown): void {
    if (this.#running.get(name) !== undefined) return
    const running = Promise.resolve()
      .then(run)
      .catch(error =>
        this.#parts.logger.warn({ err: error, schedule: name }, 'a scheduled run failed'),
      )
      .finally(() => this.#running.set(name, undefined))
    this.#running.set(name, running)
  }
}
