import type { Point } from './formation.ts'

const NONE = -1

/** Ratio of the increments of two phases. */
const PHASE_FACTOR = 4
const PHASES = 9

/** Most bids of one phase per start; an auction that takes longer would help no more. */
const BIDS_PER_START = 100

/**
 * Finds potentials of targets by an auction (Bertsekas, 1988): starts outbid each other for their
 * cheapest targets, by increments that become smaller from phase to phase. A search that begins
 * with them needs few steps; it finds the same least sum from any others.
 */
export const findPotentials = (
  starts: readonly Point[],
  targets: readonly Point[],
): Float64Array<ArrayBuffer> => {
  const auction = new Auction(starts, targets)
  const extent = Math.max(0, ...[...starts, ...targets].map(({ x, y }) => x * x + y * y))
  if (targets.length < 2 || extent === 0) return auction.potentials
  for (let phase = 0; phase < PHASES; phase++) auction.run(extent / PHASE_FACTOR ** phase)
  return auction.potentials
}

class Auction {
  readonly potentials: Float64Array<ArrayBuffer>
  readonly #starts: readonly Point[]
  readonly #targetX: Float64Array
  readonly #targetY: Float64Array
  readonly #startOf: Int32Array

  constructor(starts: readonly Point[], targets: readonly Point[]) {
    this.potentials = new Float64Array(targets.length)
    this.#starts = starts
    this.#targetX = Float64Array.from(targets, ({ x }) => x)
    this.#targetY = Float64Array.from(targets, ({ y }) => y)
    this.#startOf = new Int32Array(targets.length)
  }

  /** Runs one phase: ends when each start has a target. */
  run(increment: number): void {
    this.#startOf.fill(NONE)
    const waiting = [...this.#starts.keys()]
    for (let bids = BIDS_PER_START * this.#starts.length; bids > 0; bids--) {
      const start = waiting.pop()
      if (start === undefined) return
      const outbid = this.#bid(start, increment)
      if (outbid !== NONE) waiting.push(outbid)
    }
  }

  /** Takes the cheapest target of a start; returns the start that had it. */
  #bid(start: number, increment: number): number {
    const { x, y } = this.#starts[start] as Point
    let best = 0
    let least = Number.POSITIVE_INFINITY
    let second = Number.POSITIVE_INFINITY
    for (let target = 0; target < this.potentials.length; target++) {
      const dx = (this.#targetX[target] as number) - x
      const dy = (this.#targetY[target] as number) - y
      const cost = dx * dx + dy * dy - (this.potentials[target] as number)
      if (cost >= second) continue
      if (cost < least) {
        second = least
        least = cost
        best = target
      } else second = cost
    }
    const before = this.#startOf[best] as number
    this.#startOf[best] = start
    this.potentials[best] = (this.potentials[best] as number) - (second - least) - increment
    return before
  }
}
