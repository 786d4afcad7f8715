import { METRIC_NAMES, METRICS } from '../cells/metrics.ts'
import type { Bucket } from './bucket.ts'

/**
 * Numbers before the values of a bucket: its start time and its sample count. The values follow by
 * position in METRIC_NAMES.
 */
const HEAD = 2
const WIDTH = HEAD + METRIC_NAMES.length
const IS_MAX = METRIC_NAMES.map(name => METRICS[name] === 'max')

/**
 * The buckets of one row while they wait to be written, all in one array of numbers: 10,000 cells
 * have 100,000 of them, and an object for each would be most of their memory.
 */
export class CompactSegment implements Iterable<[at: number, bucket: Bucket]> {
  #numbers: number[] = []
  /**
   * Counts of known samples per metric, for buckets in which a metric is known in only some
   * samples.
   */
  #partly: Map<number, number[]> | undefined

  /** Adds a bucket that begins at `at`, or merges it into the one that does. */
  add(at: number, bucket: Bucket): void {
    const from = this.#find(at)
    if (from === undefined) this.#append(at, bucket)
    else this.#merge(from, bucket)
  }

  *[Symbol.iterator](): Generator<[number, Bucket]> {
    for (let from = 0; from < this.#numbers.length; from += WIDTH) {
      const values = this.#numbers.slice(from + HEAD, from + WIDTH)
      const samples = this.#number(from + 1)
      yield [this.#number(from), { samples, values, known: this.#readKnown(from) }]
    }
  }

  #number(at: number): number {
    return this.#numbers[at] as number
  }

  /** The newest is asked for most. */
  #find(at: number): number | undefined {
    for (let from = this.#numbers.length - WIDTH; from >= 0; from -= WIDTH)
      if (this.#numbers[from] === at) return from
    return undefined
  }

  #append(at: number, { samples, values, known }: Bucket): void {
    const from = this.#numbers.length
    // a new array has room for exactly what is in it
    this.#numbers = this.#numbers.concat(at, samples, values)
    this.#keepKnown(from, known)
  }

  #readKnown(from: number): number[] {
    const partly = this.#partly?.get(from)
    if (partly !== undefined) return partly.slice()
    const samples = this.#number(from + 1)
    return METRIC_NAMES.map((_, i) => (Number.isNaN(this.#number(from + HEAD + i)) ? 0 : samples))
  }

  #keepKnown(from: number, known: number[]): void {
    const samples = this.#number(from + 1)
    if (known.every(count => count === 0 || count === samples)) {
      this.#partly?.delete(from)
      return
    }
    this.#partly ??= new Map()
    this.#partly.set(from, known)
  }

  #merge(from: number, more: Bucket): void {
    const known = this.#readKnown(from)
    for (let i = 0; i < known.length; i++) {
      const [own, countB] = [known[i] as number, more.known[i] as number]
      if (countB === 0) continue
      const [a, b] = [this.#number(from + HEAD + i), more.values[i] as number]
      this.#numbers[from + HEAD + i] = mergeValues(i, [a, own], [b, countB])
      known[i] = own + countB
    }
    this.#numbers[from + 1] = this.#number(from + 1) + more.samples
    this.#keepKnown(from, known)
  }
}

const mergeValues = (
  metric: number,
  [a, countA]: [number, number],
  [b, countB]: [number, number],
) => {
  if (countA === 0) return b
  if (IS_MAX[metric]) return Math.max(a, b)
  return (a * countA + b * countB) / (countA + countB)
}
