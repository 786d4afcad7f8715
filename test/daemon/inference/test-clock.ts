import type { Clock } from '../../../daemon/inference/clock.ts'

/** Time that moves only when the test says so. */
export class TestClock implements Clock {
  #now = 0
  #timers = new Set<{ at: number; run: () => void }>()

  now = (): number => this.#now

  callAfter = (ms: number, run: () => void): (() => void) => {
    const timer = { at: this.#now + ms, run }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  advance(ms: number): void {
    const end = this.#now + ms
    for (;;) {
      const [next] = [...this.#timers].sort((a, b) => a.at - b.at)
      if (next === undefined || next.at > end) break
      this.#timers.delete(next)
      this.#now = next.at
      next.run()
    }
    this.#now = end
  }
}
