import type { Sample } from '../../../shared/wire/telemetry.ts'

/** Samples from a cell's spool, oldest first. */
export interface LateSamples {
  cellId: string
  samples: Sample[]
  /** Time by which the cell's clock was ahead when the samples arrived. */
  clockAheadMs: number
}

interface LateParts {
  /** Reads the times of the newest late samples that were counted, by whichever coordinator. */
  readUntil: (cellIds: readonly string[]) => Promise<Map<string, number>>
  /** Unix time, milliseconds. */
  now: () => number
}

/** Clock offsets below this may be transit time and are not corrected. */
export const CLOCK_TOLERANCE_MS = 2000
/** Time without late samples of a cell after which another coordinator may have received some. */
const KNOWN_MS = 5000
/** Messages that wait for the store; when there are so many, they count without being compared. */
const MAX_WAITING = 1000

/**
 * Late samples reach only the home of a cell, which may change while they are sent. Before the first
 * ones of a cell are counted, it is read which ones were counted elsewhere. The cell has forgotten what
 * waits here, so nothing of it is dropped: while the store is unavailable, rather a few count twice.
 */
export class LateGate {
  readonly #parts: LateParts
  #waiting: LateSamples[] = []
  /** Time of the newest late sample that counts, by its cell's clock. */
  readonly #until = new Map<string, number>()
  readonly #heardAt = new Map<string, number>()

  constructor(parts: LateParts) {
    this.#parts = parts
  }

  /** Returns the samples that count now; the others wait for `readWaiting`. */
  take(late: LateSamples): LateSamples[] {
    const now = this.#parts.now()
    const { cellId } = late
    const isKnown = now - (this.#heardAt.get(cellId) ?? Number.NEGATIVE_INFINITY) < KNOWN_MS
    if (isKnown) return [this.#count(late)]
    this.#waiting.push(late)
    return this.#waiting.length < MAX_WAITING ? [] : this.#release()
  }

  /** Returns the samples that have waited and count. Throws when the store cannot be read. */
  async readWaiting(): Promise<LateSamples[]> {
    if (this.#waiting.length === 0) return []
    const cellIds = [...new Set(this.#waiting.map(({ cellId }) => cellId))]
    const until = await this.#parts.readUntil(cellIds)
    for (const cellId of cellIds) this.#until.set(cellId, until.get(cellId) ?? -1)
    return this.#release()
  }

  #release(): LateSamples[] {
    const waiting = this.#waiting
    this.#waiting = []
    return waiting.map(late => this.#count(late))
  }

  #count(late: LateSamples): LateSamples {
    const { cellId, clockAheadMs } = late
    this.#heardAt.set(cellId, this.#parts.now())
    const samples = late.samples.filter(({ taken_at }) => {
      if (taken_at <= this.#findCountedUntil(cellId, clockAheadMs)) return false
      this.#until.set(cellId, taken_at)
      return true
    })
    return { ...late, samples }
  }

  /**
   * Time of the newest late sample that was counted. A time in the future stems from a wrong clock
   * of the cell and is void once the clock is right.
   */
  #findCountedUntil(cellId: string, clockAheadMs: number): number {
    const until = this.#until.get(cellId) ?? -1
    const isRight = Math.abs(clockAheadMs) <= CLOCK_TOLERANCE_MS
    return isRight && until > this.#parts.now() + CLOCK_TOLERANCE_MS ? -1 : until
  }
}
