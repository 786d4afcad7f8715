import { type Holder, HolderTable } from './holder-table.ts'

/**
 * Ids of the holders that a share counts for, by kind: `{ cell: 'cell_…', key: 'key_…' }`. A kind
 * without an id has no part in the share.
 */
export type Holders<Kind extends string> = Readonly<Partial<Record<Kind, string>>>

export interface BudgetLimits<Kind extends string = string> {
  /** Upper bound over all holders. */
  total: number
  /** Upper bound for one holder, by kind of holder. */
  per: Readonly<Record<Kind, number>>
  /**
   * True where the newest take always gets room: at the bound of a holder its own oldest share is
   * reclaimed, and at the total that of the largest holder, however large the taker is.
   */
  isNewestFirst?: boolean
}

/** One holder's part of a budget, such as the bytes of one answer. */
export interface Share {
  /** Amount held now. */
  readonly held: number
  /**
   * Limit that refused the last take: a kind of holder or `total`; undefined when it was granted.
   */
  readonly refusedBy: string | undefined
  /** Returns false, and takes nothing, when a bound would be exceeded. */
  take(amount: number): boolean
  /** Takes the amount in any case, because it is already in use. Later takes see it. */
  force(amount: number): void
  /** Gives part of it back; counts as progress. */
  give(amount: number): void
  /** Gives all of it back. The share may be used again. */
  close(): void
}

/**
 * A bounded resource that many holders share: one bound for all, and one for each holder. When the
 * total is used up, a holder gets room from the largest holder of the first kind, whose share
 * without progress for longest is reclaimed; unless the taker would then be the largest itself.
 */
export class Budget<Kind extends string = string> {
  readonly limits: BudgetLimits<Kind>
  readonly #table: HolderTable

  constructor(limits: BudgetLimits<Kind>) {
    this.limits = limits
    this.#table = new HolderTable(limits)
  }

  /** Amount in use by all holders. */
  get used(): number {
    return this.#table.used
  }

  /** Shares that were reclaimed in favour of smaller holders. */
  get reclaimed(): number {
    return this.#table.reclaimed
  }

  /** Counts of refused takes, by the bound that refused them. */
  get refusals(): ReadonlyMap<string, number> {
    return this.#table.refusals
  }

  readUse(kind: Kind, id: string): number {
    return this.#table.find(kind, id)?.used ?? 0
  }

  /** Returns the amount of the largest holder of each kind. */
  largest(): ReadonlyMap<string, number> {
    return this.#table.largest()
  }

  /**
   * Opens a share that holds nothing yet.
   * @param onReclaim ends the use of the share within the call; without it the share is never
   *   reclaimed
   */
  open(holders: Holders<Kind>, onReclaim?: () => void): Share {
    return new OpenShare(this.#table, holders, onReclaim)
  }
}

/** A share that joins its holders with its first amount and leaves them with its last. */
class OpenShare implements Share {
  readonly #table: HolderTable
  readonly #ids: Holders<string>
  readonly #onReclaim: (() => void) | undefined
  #holders: readonly Holder[] | undefined
  #held = 0
  refusedBy: string | undefined

  constructor(table: HolderTable, ids: Holders<string>, onReclaim: (() => void) | undefined) {
    this.#table = table
    this.#ids = ids
    this.#onReclaim = onReclaim
  }

  get held(): number {
    return this.#held
  }

  take(amount: number): boolean {
    if (amount === 0) return true
    const holders = this.#join()
    this.refusedBy = this.#table.refuse(holders, amount)
    if (this.refusedBy === undefined) this.#add(holders, amount)
    else if (this.#held === 0) this.#leave(holders)
    return this.refusedBy === undefined
  }

  force(amount: number): void {
    if (amount > 0) this.#add(this.#join(), amount)
  }

  give(amount: number): void {
    const holders = this.#holders
    if (amount === 0 || holders === undefined) return
    this.#add(holders, -amount)
    if (this.#onReclaim !== undefined) this.#forbidReclaim(holders)
    if (this.#held === 0) this.#leave(holders)
    else if (this.#onReclaim !== undefined) this.#allowReclaim(holders)
  }

  close(): void {
    this.give(this.#held)
  }

  reclaim(): void {
    this.#onReclaim?.()
    this.close()
  }

  #join(): readonly Holder[] {
    if (this.#holders !== undefined) return this.#holders
    this.#holders = this.#table.join(this.#ids)
    return this.#holders
  }

  #leave(holders: readonly Holder[]): void {
    this.#holders = undefined
    for (const holder of holders) this.#table.leave(holder)
  }

  #add(holders: readonly Holder[], amount: number): void {
    // before, there is nothing to reclaim
    if (this.#held === 0 && this.#onReclaim !== undefined) this.#allowReclaim(holders)
    this.#held += amount
    this.#table.used += amount
    for (const holder of holders) holder.used += amount
  }

  /** Puts the share behind those that have waited longer for progress. */
  #allowReclaim(holders: readonly Holder[]): void {
    this.#table.reclaimable++
    for (const { reclaimable } of holders) reclaimable.add(this)
  }

  #forbidReclaim(holders: readonly Holder[]): void {
    this.#table.reclaimable--
    for (const { reclaimable } of holders) reclaimable.delete(this)
  }
}
