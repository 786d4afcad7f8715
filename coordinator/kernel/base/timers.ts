import type { Logger } from 'pino'
import { stopTimer, systemRuntime } from '../../../shared/runtime.ts'
import type { PeriodicWork } from './base.ts'

/** Calls back again and again; the answer stops that. */
type Repeat = (call: () => void, milliseconds: number) => () => void

interface TimerParts {
  stack: Pick<AsyncDisposableStack, 'defer'>
  logger: Pick<Logger, 'warn'>
  repeat?: Repeat
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
    const { stack, repeat = onInterval } = this.#parts
    const stop = repeat(() => this.#start(name, run), seconds * 1000)
    stack.defer(async () => {
      stop()
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

const onInterval: Repeat = (call, milliseconds) => {
  const timer = systemRuntime.setInterval(call, milliseconds).unref()
  return () => stopTimer(timer)
}
