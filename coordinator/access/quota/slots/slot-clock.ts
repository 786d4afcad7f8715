import { SLOT_MS, slotAt, slotEndMs, WINDOW_SLOTS } from './slot-grant.ts'

/** One reading of the store's clock, and the ticks of this process before and after it. */
interface ClockReading {
  beforeTicks: number
  nowMs: number
  afterTicks: number
}

/** Two clocks may drift apart by so much in one slot. */
const DRIFT_MS = 20

/** Slots of the store's clock, on the safe side, in ticks of this process. */
export class SlotClock {
  #reading: ClockReading | undefined

  note(reading: ClockReading): void {
    this.#reading = reading
  }

  isSet(): boolean {
    return this.#reading !== undefined
  }

  /** Slot before which the store is certainly not. */
  earliestSlot(ticks: number): number {
    const { nowMs, afterTicks } = this.#require()
    return slotAt(nowMs + ticks - afterTicks)
  }

  /** Ticks at which a slot has certainly not ended. */
  endOf(slot: number): number {
    const { nowMs, beforeTicks } = this.#require()
    return beforeTicks + slotEndMs(slot) - nowMs - DRIFT_MS
  }

  /** Ticks from which the starts of a slot certainly count no longer. */
  forgottenAt(slot: number): number {
    const { nowMs, afterTicks } = this.#require()
    return afterTicks + (slot + WINDOW_SLOTS) * SLOT_MS - nowMs
  }

  #require(): ClockReading {
    if (this.#reading === undefined) throw new TypeError('the clock of the store was not read')
    return this.#reading
  }
}
