/** The use of a budget by one holder. */
export interface Holder {
  readonly kind: string
  readonly id: string
  used: number
  /** Shares that count for the holder. */
  shares: number
  /** Shares that can be reclaimed, the one without progress for longest first. */
  readonly reclaimable: Set<{ reclaim(): void }>
}

interface Limits {
  total: number
  per: Readonly<Record<string, number>>
  isNewestFirst?: boolean
}

/** The holders of a budget, by kind, and what they use together. */
export class HolderTable {
  used = 0
  reclaimed = 0
  /** Shares of all holders that can be reclaimed. */
  reclaimable = 0
  readonly refusals: Map<string, number>
  readonly #limits: Limits
  readonly #byKind: ReadonlyMap<string, Map<string, Holder>>

  constructor(limits: Limits) {
    this.#limits = limits
    const kinds = Object.keys(limits.per)
    this.#byKind = new Map(kinds.map(kind => [kind, new Map()]))
    // a counter that begins with its first refusal has no increase that an alert could see
    this.refusals = new Map(['total', ...kinds].map(bound => [bound, 0]))
  }

  find(kind: string, id: string): Holder | undefined {
    return this.#byKind.get(kind)?.get(id)
  }

  /** Returns the amount of the largest holder of each kind. */
  largest(): ReadonlyMap<string, number> {
    const amounts = new Map<string, number>()
    for (const [kind, holders] of this.#byKind)
      amounts.set(kind, findLargest(holders, () => true)?.used ?? 0)
    return amounts
  }

  /** Returns the holders with these ids, at most one of each kind, in the order of the limits. */
  join(ids: Readonly<Record<string, string | undefined>>): Holder[] {
    const joined: Holder[] = []
    for (const [kind, holders] of this.#byKind) {
      const id = ids[kind]
      if (id === undefined) continue
      let holder = holders.get(id)
      if (holder === undefined) {
        holder = { kind, id, used: 0, shares: 0, reclaimable: new Set() }
        holders.set(id, holder)
      }
      holder.shares++
      joined.push(holder)
    }
    return joined
  }

  /** Takes a share from a holder, which is forgotten with its last one. */
  leave(holder: Holder): void {
    if (--holder.shares === 0) this.#byKind.get(holder.kind)?.delete(holder.id)
  }

  /**
   * Returns the bound that does not let the holders take the amount; undefined when they may take
   * it. Reclaims shares of a larger holder for it.
   */
  refuse(holders: readonly Holder[], amount: number): string | undefined {
    for (const holder of holders)
      if (!this.#hasRoom(holder, amount)) return this.#countRefusal(holder.kind)
    return this.#reclaimRoom(holders, amount) ? undefined : this.#countRefusal('total')
  }

  #countRefusal(bound: string): string {
    this.refusals.set(bound, (this.refusals.get(bound) ?? 0) + 1)
    return bound
  }

  #hasRoom(holder: Holder, amount: number): boolean {
    const limit = this.#limits.per[holder.kind] as number
    const { isNewestFirst = false } = this.#limits
    while (isNewestFirst && holder.used + amount > limit && holder.reclaimable.size > 0)
      this.#reclaimOldest(holder)
    return holder.used + amount <= limit
  }

  #reclaimOldest({ reclaimable }: Holder): void {
    const [share] = reclaimable
    this.reclaimed++
    share?.reclaim()
  }

  #reclaimRoom(takers: readonly Holder[], amount: number): boolean {
    if (this.used + amount <= this.#limits.total) return true
    const [first] = this.#byKind
    // the search below visits every holder, so that a flood at the bound must not begin it in vain
    if (first === undefined || this.reclaimable === 0) return false
    const [kind, holders] = first
    const { isNewestFirst = false } = this.#limits
    const ownUsed = takers.find(taker => taker.kind === kind)?.used ?? 0
    while (this.used + amount > this.#limits.total) {
      const largest = findLargest(holders, ({ reclaimable }) => reclaimable.size > 0)
      if (largest === undefined || (!isNewestFirst && largest.used <= ownUsed + amount))
        return false
      this.#reclaimOldest(largest)
    }
    return true
  }
}

const findLargest = (
  holders: ReadonlyMap<string, Holder>,
  isCandidate: (holder: Holder) => boolean,
): Holder | undefined => {
  let largest: Holder | undefined
  for (const holder of holders.values())
    if (isCandidate(holder) && holder.used > (largest?.used ?? -1)) largest = holder
  return largest
}
