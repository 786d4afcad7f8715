/** The use of a budget by one holder. */
export interface Holder {
  readonly kind: string
  readonly id: string
  used: number
  /** Shares that can be reclaimed, the one without progress for longest first. */
  readonly reclaimable: Set<{ reclaim(): void }>
}

interface Limits {
  total: number
  per: Readonly<Record<string, number>>
}

/** The holders of a budget, by kind, and what they use together. */
export class HolderTable {
  used = 0
  reclaimed = 0
  readonly refusals = new Map<string, number>()
  readonly #limits: Limits
  readonly #byKind: ReadonlyMap<string, Map<string, Holder>>

  constructor(limits: Limits) {
    this.#limits = limits
    this.#byKind = new Map(Object.keys(limits.per).map(kind => [kind, new Map()]))
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

  /** Returns the holders with these ids, one of each kind. */
  join(ids: Readonly<Record<string, string>>): Holder[] {
    const joined: Holder[] = []
    for (const [kind, holders] of this.#byKind) {
      const id = ids[kind] as string
      let holder = holders.get(id)
      if (holder === undefined) {
        holder = { kind, id, used: 0, reclaimable: new Set() }
        holders.set(id, holder)
      }
      joined.push(holder)
    }
    return joined
  }

  /** Forgets a holder that uses nothing any more. */
  leave({ kind, id, used }: Holder): void {
    if (used === 0) this.#byKind.get(kind)?.delete(id)
  }

  /** Returns whether the holders may take the amount; reclaims shares of a larger one for it. */
  mayTake(holders: readonly Holder[], amount: number): boolean {
    for (const { kind, used } of holders)
      if (used + amount > (this.#limits.per[kind] as number)) return this.#refuse(kind)
    return this.#reclaimRoom(holders[0]?.used ?? 0, amount) || this.#refuse('total')
  }

  #refuse(bound: string): false {
    this.refusals.set(bound, (this.refusals.get(bound) ?? 0) + 1)
    return false
  }

  #reclaimRoom(ownUsed: number, amount: number): boolean {
    const [holders] = this.#byKind.values()
    while (this.used + amount > this.#limits.total) {
      const largest = holders && findLargest(holders, ({ reclaimable }) => reclaimable.size > 0)
      if (largest === undefined || largest.used <= ownUsed + amount) return false
      const [share] = largest.reclaimable
      this.reclaimed++
      share?.reclaim()
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
