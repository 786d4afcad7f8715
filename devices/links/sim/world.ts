import type { SimLinkConfig } from './config.ts'
import { SimUnit } from './unit.ts'

/** Length of a step of the simulation; its results do not depend on how time is cut outside. */
const STEP_MS = 20

interface Waiter {
  isDue: () => boolean
  resolve: () => void
}

/** Simulated devices and their time, which passes only by `advance`. */
export class SimWorld {
  readonly units: readonly SimUnit[]
  #elapsed_ms = 0
  #target_ms = 0
  readonly #waiters = new Set<Waiter>()

  constructor(cellId: string, { seed, devices }: Pick<SimLinkConfig, 'seed' | 'devices'>) {
    this.units = devices.map(device => new SimUnit(cellId, seed, device))
  }

  /** Simulated time since the start. */
  get elapsed_ms(): number {
    return this.#elapsed_ms
  }

  /** Lets simulated time pass. */
  advance(milliseconds: number): void {
    this.#target_ms += milliseconds
    while (this.#elapsed_ms + STEP_MS <= this.#target_ms) {
      this.#elapsed_ms += STEP_MS
      for (const unit of this.units) unit.step(STEP_MS / 1000)
    }
    for (const waiter of this.#waiters) if (waiter.isDue()) waiter.resolve()
  }

  /** Resolves after the advance that makes it true; rejects with the signal's reason. */
  async waitUntil(isDue: () => boolean, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (isDue()) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter = { isDue, resolve }
    const onAbort = (): void => reject(signal.reason)
    this.#waiters.add(waiter)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await promise
    } finally {
      this.#waiters.delete(waiter)
      signal.removeEventListener('abort', onAbort)
    }
  }
}
