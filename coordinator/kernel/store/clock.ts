import type { Ledger } from './store.ts'

interface ClockParts {
  ledger: Pick<Ledger, 'free' | 'nowMs'>
  /** Monotonic milliseconds. */
  nowMs: () => number
}

interface Reading {
  /** Unix milliseconds of the store minus the monotonic time at which it was read. */
  offsetMs: number
  readAtMs: number
  /** Largest error of the offset when it was read. */
  errorMs: number
}

/** Growth of the error with time: clocks of machines differ in rate by less than this. */
const DRIFT = 0.0005

/**
 * The clock of a shared store without a question to it: coordinators whose own clocks differ or
 * are set compare the same times. It runs on the monotonic clock and is corrected by `sync`; while
 * the store does not answer, it goes on.
 */
export class StoreClock {
  readonly #parts: ClockParts
  #reading: Reading

  private constructor(parts: ClockParts, reading: Reading) {
    this.#parts = parts
    this.#reading = reading
  }

  static async open(parts: ClockParts): Promise<StoreClock> {
    return new StoreClock(parts, await readClock(parts))
  }

  /** Unix milliseconds. */
  now = (): number => Math.round(this.#parts.nowMs() + this.#reading.offsetMs)

  /** Reads the store's clock again, and follows it where the reading tells more than the last one. */
  async sync(): Promise<void> {
    const known = this.#reading
    const read = await readClock(this.#parts)
    const knownErrorMs = known.errorMs + (read.readAtMs - known.readAtMs) * DRIFT
    const isSet = Math.abs(read.offsetMs - known.offsetMs) > read.errorMs + knownErrorMs
    if (isSet || read.errorMs <= knownErrorMs) this.#reading = read
  }
}

/**
 * Options of a read that shows nothing of what was done: it is allowed while the audit is in doubt,
 * too.
 */
const AT_ONCE = { evenFrozen: true, isUrgent: true }

const readClock = ({ ledger, nowMs }: ClockParts): Promise<Reading> =>
  ledger.free.write(async trx => {
    const beforeMs = nowMs()
    const at = await ledger.nowMs(trx)
    const readAtMs = nowMs()
    const errorMs = (readAtMs - beforeMs) / 2
    return { offsetMs: at - (beforeMs + errorMs), readAtMs, errorMs }
  }, AT_ONCE)
