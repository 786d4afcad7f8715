import type { Wait } from '../../shared/wait.ts'

/**
 * A nudge shared by connections to the same coordinator: when one of them is up, the others retry
 * at once.
 */
export class Nudge {
  #next = new AbortController()

  /** Ends all pauses that run now. */
  ring(): void {
    const ringing = this.#next
    this.#next = new AbortController()
    ringing.abort()
  }

  /** A pause that ends early when it rings. */
  wait(wait: Wait, milliseconds: number, signal: AbortSignal): Promise<void> {
    return wait(milliseconds, AbortSignal.any([signal, this.#next.signal]))
  }
}
