import { ShoalError } from '../../shared/errors.ts'
import type { Clock } from './clock.ts'

export interface AdmissionLimits {
  slots: number
  /** Requests that may wait. */
  queue: number
  /** Prompt text that the waiting requests may hold together. */
  queueBytes: number
  queueTimeoutSeconds: number
}

export interface Ticket {
  bytes: number
  /** Part of a request that was let in already: it waits without a bound. */
  follows?: boolean
  /** Called once, when a slot is taken for this request. */
  onSlot: () => void
  /** Called instead when it waited too long or the engine went away. */
  onRefused: (error: ShoalError) => void
}

interface Waiting extends Ticket {
  callOff: () => void
}

const RETRY_SECONDS = 1

/** Gives out the slots of one engine in the order of arrival, and refuses what it cannot serve. */
export class Admission {
  #limits: AdmissionLimits
  readonly #clock: Clock
  readonly #waiting = new Set<Waiting>()
  #waitingBytes = 0
  #busy = 0
  #open = false

  constructor(limits: AdmissionLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  get slots(): number {
    return this.#limits.slots
  }

  /** Other numbers of slots and places, while nobody has a slot. */
  resize(slots: number, queue: number): void {
    this.#limits = { ...this.#limits, slots, queue }
  }

  get busy(): number {
    return this.#busy
  }

  get queued(): number {
    return this.#waiting.size
  }

  /**
   * Takes a slot at once or waits for one. The answer leaves the queue; it does nothing once the
   * slot is taken.
   *
   * @throws ShoalError cell_unavailable when the queue is full
   */
  enter(ticket: Ticket): () => void {
    if (this.#open && this.#busy < this.#limits.slots && this.#waiting.size === 0) {
      this.#busy++
      ticket.onSlot()
      return () => {}
    }
    if (!ticket.follows) this.#refuseWhenFull(ticket.bytes)
    return this.#wait(ticket)
  }

  /** A slot is free again. */
  leave(): void {
    this.#busy--
    this.#fill()
  }

  /** The engine is ready. */
  open(): void {
    this.#open = true
    this.#fill()
  }

  /** The engine is gone: all slots are free, nobody gets one. */
  close(): void {
    this.#open = false
    this.#busy = 0
  }

  refuseAll(error: ShoalError): void {
    for (const waiting of [...this.#waiting]) {
      this.#remove(waiting)
      waiting.onRefused(error)
    }
  }

  #refuseWhenFull(bytes: number): void {
    const { slots, queue, queueBytes } = this.#limits
    const places = this.#open ? queue : queue + slots
    if (this.#waiting.size >= places) {
      throw full(`${this.#waiting.size} requests wait for ${slots} slots`)
    }
    if (this.#waiting.size > 0 && this.#waitingBytes + bytes > queueBytes) {
      throw full(`the waiting requests hold ${this.#waitingBytes} bytes of text`)
    }
  }

  #wait(ticket: Ticket): () => void {
    const waiting: Waiting = {
      ...ticket,
      callOff: ticket.follows ? () => {} : this.#refuseLate(() => waiting),
    }
    this.#waiting.add(waiting)
    this.#waitingBytes += ticket.bytes
    return () => this.#remove(waiting)
  }

  #refuseLate(late: () => Waiting): () => void {
    const seconds = this.#limits.queueTimeoutSeconds
    return this.#clock.after(seconds * 1000, () => {
      const waiting = late()
      this.#remove(waiting)
      waiting.onRefused(full(`no slot became free within ${seconds} s`))
    })
  }

  #remove(waiting: Waiting): void {
    if (!this.#waiting.delete(waiting)) return
    this.#waitingBytes -= waiting.bytes
    waiting.callOff()
  }

  #fill(): void {
    for (const waiting of this.#waiting) {
      if (!this.#open || this.#busy >= this.#limits.slots) return
      this.#remove(waiting)
      this.#busy++
      waiting.onSlot()
    }
  }
}

const full = (message: string): ShoalError =>
  new ShoalError('cell_unavailable', message, { retryAfterSeconds: RETRY_SECONDS })
