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
  follows?: boolean | undefined
  /** Model id as requested by the client. */
  model?: string | undefined
  /** Runs once, when a slot is assigned to this request. */
  onSlot: () => void
  /** Runs instead of `onSlot` when the wait was too long or the engine ended. */
  onRefused: (error: ShoalError) => void
}

/** Properties of a request, without its callbacks. */
export type SlotRequest = Pick<Ticket, 'model' | 'follows'>

interface Waiting extends Ticket {
  callOff: () => void
}

const RETRY_SECONDS = 1

/** Error for requests that arrive while the engine is not ready. */
type Away = (ticket: Pick<Ticket, 'model'>) => ShoalError

/** Assigns the slots of one engine in order of arrival, and refuses requests it cannot serve. */
export class SlotAdmission {
  #limits: AdmissionLimits
  readonly #clock: Clock
  readonly #away: Away | undefined
  readonly #waiting = new Set<Waiting>()
  #waitingBytes = 0
  #busy = 0
  #open = false
  #lastUsedAt: number

  constructor(limits: AdmissionLimits, clock: Clock, away?: Away) {
    this.#limits = limits
    this.#clock = clock
    this.#away = away
    this.#lastUsedAt = clock.now()
  }

  /** Time of the last arrival or end of a request, by the clock. */
  get lastUsedAt(): number {
    return this.#lastUsedAt
  }

  /** True when no request has a slot or waits for one. */
  get idle(): boolean {
    return this.#busy === 0 && this.#waiting.size === 0
  }

  /** Requests that may wait. */
  get queueLimit(): number {
    return this.#limits.queue
  }

  get slots(): number {
    return this.#limits.slots
  }

  /** Changes the number of slots and places while no request has a slot. */
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
    this.#lastUsedAt = this.#clock.now()
    if (this.#open && this.#busy < this.#limits.slots && this.#waiting.size === 0) {
      this.#busy++
      ticket.onSlot()
      return () => {}
    }
    if (!ticket.follows) this.#refuseWhenFull(ticket)
    return this.#wait(ticket)
  }

  /** A slot is free again. */
  leave(): void {
    this.#lastUsedAt = this.#clock.now()
    this.#busy--
    this.#fill()
  }

  /** The engine is ready. */
  open(): void {
    this.#lastUsedAt = this.#clock.now()
    this.#open = true
    this.#fill()
  }

  /** Frees all slots of an engine that has ended, and assigns no more. */
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

  #refuseWhenFull(ticket: Ticket): void {
    const { slots, queue, queueBytes } = this.#limits
    const places = this.#open ? queue : queue + slots
    if (this.#waiting.size >= places) {
      throw this.#queueFull(ticket, `${this.#waiting.size} requests wait for ${slots} slots`)
    }
    if (this.#waiting.size > 0 && this.#waitingBytes + ticket.bytes > queueBytes) {
      throw this.#queueFull(ticket, `the waiting requests hold ${this.#waitingBytes} bytes of text`)
    }
  }

  /** Error for a full queue; while the engine loads, its progress is the more useful message. */
  #queueFull(ticket: Ticket, message: string): ShoalError {
    if (!this.#open && this.#away !== undefined) return this.#away(ticket)
    return new ShoalError('cell_unavailable', message, { retryAfterSeconds: RETRY_SECONDS })
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

  #refuseLate(findLate: () => Waiting): () => void {
    const seconds = this.#limits.queueTimeoutSeconds
    return this.#clock.callAfter(seconds * 1000, () => {
      const waiting = findLate()
      this.#remove(waiting)
      waiting.onRefused(this.#queueFull(waiting, `no slot became free within ${seconds} s`))
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
