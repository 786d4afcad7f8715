import type { Transaction } from 'kysely'
import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import { Listeners } from '../base/listeners.ts'
import { createElapsedMs } from '../leases/elapsed.ts'
import { LIVES_MS } from '../leases/ownership.ts'
import { Tenure } from '../leases/tenure.ts'
import type { Ledger } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { hasMaintenance } from './maintenance.ts'
import type { ProcessRow } from './process-row.ts'
import { findOwner } from './rendezvous.ts'
import { replicaTable } from './replica.table.ts'
import type { Replica, Replicas } from './replicas.ts'

interface RegisteredReplicasParts {
  ledger: Pick<Ledger, 'sealed' | 'free' | 'nowMs'>
  self: Pick<Replica, 'id' | 'address'>
  row: ProcessRow
  logger: Pick<Logger, 'info' | 'warn'>
  runtime: Pick<Runtime, 'now' | 'nowMs'>
}

/**
 * Least time that the row of a coordinator has left while it runs. The row of a killed one counts as
 * live for longer, but says nothing about its cells: all may have been killed and started again.
 */
const RENEWED_MS = LIVES_MS - 1500
/** Time for which the rows of dead coordinators are kept, for an investigation. */
const KEPT_MS = 3_600_000

/** A row says who serves, and nothing about what was done: it is written while the audit is in doubt. */
const AT_ONCE = { evenFrozen: true, isUrgent: true }

interface LiveSet {
  replicas: Replica[]
  othersHaveCells: boolean
}

/**
 * The coordinators on a shared store, by rows that each renews. When the store does not answer, the
 * last known set stays, and this one owns nothing once the others may count it as dead. When the
 * store is back, the others have as long as a row lives to renew theirs.
 */
export class RegisteredReplicas implements Replicas {
  readonly id: string
  readonly #parts: RegisteredReplicasParts
  readonly #listeners = new Listeners<[]>()
  #live: readonly Replica[] = []
  #ids: readonly string[] = []
  /** Time for which the others count on this one. */
  readonly #tenure: Tenure
  #hasCells = () => false
  #othersHaveCells = false
  /** Monotonic time until which known ones stay without a renewal: an outage kept them from it. */
  #sparesUntilMs = Number.NEGATIVE_INFINITY
  #isFailing = false
  #hasLeft = false

  constructor(parts: RegisteredReplicasParts) {
    this.#parts = parts
    this.id = parts.self.id
    this.#tenure = new Tenure(createElapsedMs(parts.runtime))
  }

  live(): readonly Replica[] {
    return this.#live
  }

  owns(subject: string): boolean {
    return !this.#tenure.isOver && findOwner(subject, this.#ids) === this.id
  }

  onChange(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }

  watchCells(hasCells: () => boolean): void {
    this.#hasCells = hasCells
  }

  lacksCells(): boolean {
    const isReachedDirectly = this.#parts.self.address !== undefined
    return isReachedDirectly && this.#othersHaveCells && !this.#hasCells()
  }

  /** Adds this coordinator. Throws `conflict` while a command has the store for itself. */
  async register(): Promise<void> {
    const { ledger, self, row } = this.#parts
    const askedMs = this.#tenure.ask()
    // sealed, so that it comes before the maintenance looks for coordinators, or sees it
    const liveSet = await ledger.sealed.write(async trx => {
      if (await hasMaintenance(trx, ledger))
        throw new ShoalError(
          'conflict',
          'a command has exclusive use of the store: start again when it has finished',
        )
      const now = await ledger.nowMs(trx)
      await trx
        .deleteFrom('replicas')
        .where('until', '<', now - KEPT_MS)
        .execute()
      await row.add(trx, this.#hasCells())
      return selectLive(trx, now, self.id, [self.id])
    }, AT_ONCE)
    this.#note(liveSet, askedMs)
  }

  /** Renews the row and reads those of the others. Never rejects. */
  async renew(): Promise<void> {
    if (this.#hasLeft) return
    const hasLapsed = this.#tenure.isOver
    const askedMs = this.#tenure.ask()
    const isSparing = hasLapsed || askedMs < this.#sparesUntilMs
    try {
      const liveSet = await this.#renewRow(isSparing ? this.#ids : [this.id])
      if (hasLapsed) this.#sparesUntilMs = this.#tenure.ask() + LIVES_MS
      if (liveSet === undefined) await this.register()
      else this.#note(liveSet, askedMs)
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing)
        this.#parts.logger.warn({ err: error }, 'this coordinator is temporarily not registered')
      this.#isFailing = true
    }
  }

  /** Removes this coordinator, so that the others act for its subjects at once. */
  async leave(): Promise<void> {
    this.#hasLeft = true
    this.#tenure.end()
    const { ledger, row } = this.#parts
    await ledger.free.write(row.remove, AT_ONCE)
  }

  /** Renews the row; returns undefined when it has gone, as after a copy of the store. */
  #renewRow(spared: readonly string[]): Promise<LiveSet | undefined> {
    const { ledger, row } = this.#parts
    const hasCells = this.#hasCells()
    return ledger.free.write(async trx => {
      if (!(await row.renew(trx, hasCells))) return undefined
      return selectLive(trx, await ledger.nowMs(trx), this.id, spared)
    }, AT_ONCE)
  }

  #note({ replicas, othersHaveCells }: LiveSet, askedMs: number): void {
    this.#tenure.extend(askedMs, LIVES_MS)
    const ids = replicas.map(({ id }) => id)
    const hasChanged = ids.join() !== this.#ids.join()
    this.#live = replicas
    this.#othersHaveCells = othersHaveCells
    this.#ids = ids
    if (!hasChanged) return
    this.#parts.logger.info({ replica: this.id, live: ids }, 'the live coordinators have changed')
    this.#listeners.notify()
  }
}

/**
 * Coordinators whose row is alive, and the spared ones as long as they have one. Their unconnected
 * cells are not read: every renewal would parse them, and fail if one cannot be read.
 */
const selectLive = async (
  trx: Transaction<LedgerTables>,
  now: number,
  selfId: string,
  spared: readonly string[],
): Promise<LiveSet> => {
  const rows = await trx
    .selectFrom('replicas')
    .select(['id', 'name', 'address', 'version', 'started_at', 'until', 'has_cells'])
    .where(({ or, eb }) => or([eb('until', '>', now), eb('id', 'in', spared)]))
    .orderBy('id')
    .execute()
  const stored = rows.map(row => replicaTable.readSome(row))
  return {
    replicas: stored.map(({ id, name, address, version, startedAt }) => ({
      id,
      name,
      address,
      version,
      startedAt,
    })),
    othersHaveCells: stored.some(
      each => each.id !== selfId && each.hasCells && each.until > now + RENEWED_MS,
    ),
  }
}
