import type { JobEvent, StepCounts, StepReply } from '../protocol.ts'

/** Interval at which a busy engine reports to the daemon even without text. */
const BEAT_MS = 1000

/**
 * Collects the events of all slots and sends them as one message per engine step, while the step
 * runs: sending must not delay it.
 */
export class Outbox {
  readonly #send: (reply: StepReply) => void
  readonly #counts: () => StepCounts
  readonly #now: () => number
  #events: JobEvent[] = []
  #scheduled = false
  #sentAt = Number.NEGATIVE_INFINITY

  constructor(options: {
    send: (reply: StepReply) => void
    counts: () => StepCounts
    /** A clock in milliseconds that never jumps. */
    now: () => number
  }) {
    this.#send = options.send
    this.#counts = options.counts
    this.#now = options.now
  }

  /** Queues an event for the next step's message. */
  push(event: JobEvent): void {
    this.#events.push(event)
  }

  /** Sends queued events soon, even without a step. */
  hurry(): void {
    this.#schedule()
  }

  endStep(): void {
    if (this.#events.length > 0 || this.#now() - this.#sentAt >= BEAT_MS) this.#schedule()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.#flush())
  }

  #flush(): void {
    this.#scheduled = false
    this.#sentAt = this.#now()
    const events = this.#events
    this.#events = []
    this.#send({ type: 'step', events, counts: { ...this.#counts() } })
  }
}
