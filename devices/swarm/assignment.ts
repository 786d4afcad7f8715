import { findPotentials } from './auction.ts'
import { centroidOf, type Point } from './formation.ts'

/**
 * Assigns each start its own target so that the sum of the squared distances is least; the result
 * has the index of the target per start. Straight synchronised paths between them keep a clearance
 * of at least `1 / √2` of the least distance of two starts or two targets (Turpin, Michael, Kumar:
 * CAPT, 2014).
 *
 * Shortest augmenting paths with potentials (Jonker and Volgenant, 1987, as modified by Crouse,
 * 2016), from the potentials of an auction: cubic time at worst, linear memory.
 */
export const assignTargets = (starts: readonly Point[], targets: readonly Point[]): number[] => {
  if (targets.length !== starts.length) throw new RangeError('as many targets as starts are needed')
  const search = new AugmentingSearch(centre(starts), centre(targets))
  for (let start = 0; start < starts.length; start++) search.add(start)
  return search.listTargets()
}

/** Points around their centroid; a shift of all starts changes no assignment. */
const centre = (points: readonly Point[]): Point[] => {
  const centroid = centroidOf(points)
  return points.map(({ x, y }) => ({ x: x - centroid.x, y: y - centroid.y }))
}

const NONE = -1

const coordinates = (points: readonly Point[], axis: 'x' | 'y'): Float64Array =>
  Float64Array.from(points, point => point[axis])

class AugmentingSearch {
  readonly #count: number
  readonly #startX: Float64Array
  readonly #startY: Float64Array
  readonly #targetX: Float64Array
  readonly #targetY: Float64Array
  readonly #startPotential: Float64Array
  readonly #targetPotential: Float64Array
  readonly #targetOf: Int32Array
  readonly #startOf: Int32Array
  /** Start before each target in the current search, and the length of the path to it. */
  readonly #before: Int32Array
  readonly #shortest: Float64Array
  /** Targets in the order in which the search settled them, and behind those the others. */
  readonly #order: Int32Array

  constructor(starts: readonly Point[], targets: readonly Point[]) {
    const count = starts.length
    this.#count = count
    this.#startX = coordinates(starts, 'x')
    this.#startY = coordinates(starts, 'y')
    this.#targetX = coordinates(targets, 'x')
    this.#targetY = coordinates(targets, 'y')
    this.#startPotential = new Float64Array(count)
    this.#targetPotential = findPotentials(starts, targets)
    this.#targetOf = new Int32Array(count).fill(NONE)
    this.#startOf = new Int32Array(count).fill(NONE)
    this.#before = new Int32Array(count)
    this.#shortest = new Float64Array(count)
    this.#order = Int32Array.from({ length: count }, (_, index) => index)
  }

  /** Assigns one more start, and reassigns earlier ones where that is cheaper. */
  add(first: number): void {
    this.#shortest.fill(Number.POSITIVE_INFINITY)
    let start = first
    let length = 0
    let settled = 0
    for (;;) {
      const place = this.#relax(start, length, settled)
      const target = this.#settle(place, settled++)
      length = this.#shortest[target] as number
      start = this.#startOf[target] as number
      if (start === NONE) break
    }
    this.#updatePotentials(first, length, settled - 1)
    this.#augment(first, this.#order[settled - 1] as number)
  }

  listTargets(): number[] {
    return [...this.#targetOf]
  }

  /** Extends paths by a start; returns the place in `#order` of the nearest target not settled. */
  #relax(start: number, length: number, settled: number): number {
    const [order, shortest, before] = [this.#order, this.#shortest, this.#before]
    const [targetX, targetY, potential] = [this.#targetX, this.#targetY, this.#targetPotential]
    const x = this.#startX[start] as number
    const y = this.#startY[start] as number
    const base = length - (this.#startPotential[start] as number)
    let nearest = settled
    let least = Number.POSITIVE_INFINITY
    for (let place = settled; place < this.#count; place++) {
      const target = order[place] as number
      const dx = (targetX[target] as number) - x
      const dy = (targetY[target] as number) - y
      const through = base + dx * dx + dy * dy - (potential[target] as number)
      if (through < (shortest[target] as number)) {
        shortest[target] = through
        before[target] = start
      }
      const known = shortest[target] as number
      // of equal ones a free target, which ends the search
      if (known < least || (known === least && this.#startOf[target] === NONE)) {
        least = known
        nearest = place
      }
    }
    return nearest
  }

  /** Moves a target to the settled ones. */
  #settle(place: number, settled: number): number {
    const target = this.#order[place] as number
    this.#order[place] = this.#order[settled] as number
    this.#order[settled] = target
    return target
  }

  /** Keeps the reduced costs of all assigned pairs at zero, and of no pair below. */
  #updatePotentials(first: number, length: number, settled: number): void {
    this.#startPotential[first] = (this.#startPotential[first] as number) + length
    for (let place = 0; place < settled; place++) {
      const target = this.#order[place] as number
      const gain = length - (this.#shortest[target] as number)
      const start = this.#startOf[target] as number
      this.#startPotential[start] = (this.#startPotential[start] as number) + gain
      this.#targetPotential[target] = (this.#targetPotential[target] as number) - gain
    }
  }

  #augment(first: number, end: number): void {
    for (let target = end; ; ) {
      const start = this.#before[target] as number
      this.#startOf[target] = start
      const earlier = this.#targetOf[start] as number
      this.#targetOf[start] = target
      if (start === first) return
      target = earlier
    }
  }
}
