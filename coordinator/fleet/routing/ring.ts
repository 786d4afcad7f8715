import { hash32 } from '../../kernel/base/hash32.ts'

/** Number of points per member; more points share evenly, at the cost of memory. */
const POINTS = 32
/** Maximum number of points that a search visits; by then nearly every member is over the bound. */
const MAX_STEPS = 64
/** Minimum interval between merges of new members; a merge costs one pass over all points. */
const MERGE_EVERY_MS = 100

/**
 * Consistent hash ring: a number belongs to the next point, and so to the same member for as long
 * as that member exists, whichever others join or leave. The points are in sorted arrays because a
 * search among 300,000 points must take less than a microsecond.
 */
export class Ring<T> {
  readonly #nowMs: () => number
  #hashes = new Uint32Array(0)
  #owners = new Uint32Array(0)
  /** Members by the number in `owners`; a number is not reused before the next merge. */
  #members: (T | undefined)[] = []
  readonly #numbers = new Map<T, number>()
  #joined: { hash: number; owner: number }[] = []
  #goneSinceMerge = 0
  #mergedAtMs = Number.NEGATIVE_INFINITY

  /** Creates an empty ring; `nowMs` is monotonic. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Adds a member; `name` determines its points, which are the same after a restart. */
  add(name: string, member: T): void {
    const owner = this.#members.push(member) - 1
    this.#numbers.set(member, owner)
    for (let i = 0; i < POINTS; i++) this.#joined.push({ hash: hash32(name, i), owner })
  }

  /** Removes a member; searches skip its points from now on. */
  remove(member: T): void {
    const owner = this.#numbers.get(member)
    if (owner === undefined) return
    this.#numbers.delete(member)
    this.#members[owner] = undefined
    this.#goneSinceMerge++
  }

  /** Returns the first acceptable member from a place on the ring on, an unsigned 32-bit number. */
  find(place: number, isAcceptable: (member: T) => boolean): T | undefined {
    this.#mergeWhenDue()
    const count = this.#hashes.length
    let at = this.#findFirstFrom(place)
    for (let step = 0; step < MAX_STEPS && step < count; step++, at++) {
      const member = this.#members[this.#owners[at % count] as number]
      if (member !== undefined && isAcceptable(member)) return member
    }
    return undefined
  }

  /**
   * Returns the index of the first point at or after a place. Points lie evenly, so the search
   * begins near its end and touches few cache lines.
   */
  #findFirstFrom(place: number): number {
    const hashes = this.#hashes
    const guess = Math.floor((place / 2 ** 32) * hashes.length)
    const width = 2 * Math.ceil(Math.sqrt(hashes.length))
    let low = Math.max(0, guess - width)
    let high = Math.min(hashes.length, guess + width)
    if (low > 0 && (hashes[low - 1] as number) >= place) low = 0
    if (high < hashes.length && (hashes[high] as number) < place) high = hashes.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((hashes[middle] as number) < place) low = middle + 1
      else high = middle
    }
    return low
  }

  #mergeWhenDue(): void {
    const isDue = this.#joined.length > 0 || this.#goneSinceMerge * 2 > this.#numbers.size
    if (!isDue || this.#nowMs() - this.#mergedAtMs < MERGE_EVERY_MS) return
    this.#merge()
    this.#mergedAtMs = this.#nowMs()
  }

  /** Merges the points of the remaining and the new members in one pass. */
  #merge(): void {
    const renumbered = this.#renumber()
    const joined = this.#joined
      .filter(({ owner }) => renumbered[owner] !== undefined)
      .sort((a, b) => a.hash - b.hash)
    const hashes = new Uint32Array(this.#numbers.size * POINTS)
    const owners = new Uint32Array(hashes.length)
    let to = 0
    const put = (hash: number, owner: number): void => {
      const number = renumbered[owner]
      if (number === undefined) return
      hashes[to] = hash
      owners[to++] = number
    }
    let next = 0
    for (let at = 0; at < this.#hashes.length; at++) {
      const hash = this.#hashes[at] as number
      for (; next < joined.length && (joined[next]?.hash as number) <= hash; next++)
        put(joined[next]?.hash as number, joined[next]?.owner as number)
      put(hash, this.#owners[at] as number)
    }
    for (; next < joined.length; next++)
      put(joined[next]?.hash as number, joined[next]?.owner as number)
    this.#hashes = hashes
    this.#owners = owners
    this.#joined = []
  }

  /** Renumbers the members without gaps; returns the new numbers by old number. */
  #renumber(): (number | undefined)[] {
    const members: (T | undefined)[] = []
    const renumbered = this.#members.map(member => {
      if (member === undefined) return undefined
      this.#numbers.set(member, members.length)
      return members.push(member) - 1
    })
    this.#members = members
    this.#goneSinceMerge = 0
    return renumbered
  }
}
