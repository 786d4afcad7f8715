import type { Transaction } from 'kysely'
import { faultOf } from '../../kernel/store/faults.ts'
import type { Ledger, Store } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import type { HourTotals } from './usage-hours.ts'

/**
 * Sums that the records must hold of each hour, kept in the ledger: another database, which
 * survives a loss of power. Rows are in the records first, and in the journal until they are in
 * both, so that the ledger never expects rows that were not written.
 */
export class UsageAnchors {
  readonly #ledger: Pick<Ledger, 'free'>
  #pending = new Map<number, HourTotals>()

  constructor(ledger: Pick<Ledger, 'free'>) {
    this.#ledger = ledger
  }

  /** Adds totals of committed rows; the next `write` stores them. */
  add(totals: readonly HourTotals[]): void {
    for (const total of totals) {
      const { hour_at, requests, tokens } = total
      const known = this.#pending.get(hour_at)
      if (known === undefined) this.#pending.set(hour_at, { ...total })
      else {
        known.requests += requests
        known.tokens += tokens
      }
    }
  }

  /** Writes the anchors, even while the audit is in doubt, because usage is recorded then too. */
  async write(): Promise<void> {
    const totals = [...this.#pending.values()].sort((a, b) => a.hour_at - b.hour_at)
    if (totals.length === 0) return
    this.#pending = new Map()
    try {
      await this.#ledger.free.write(trx => addToAnchors(trx, totals), { evenFrozen: true })
    } catch (error) {
      // totals that may have been stored must not be stored twice
      if (faultOf(error) !== 'uncertain') this.add(totals)
      throw error
    }
  }
}

const addToAnchors = async (
  trx: Transaction<LedgerTables>,
  totals: readonly HourTotals[],
): Promise<void> => {
  for (const { hour_at, requests, tokens } of totals)
    await trx
      .insertInto('usage_anchors')
      .values({ hour_at, requests, tokens })
      .onConflict(conflict =>
        conflict.column('hour_at').doUpdateSet(old => ({
          requests: old('usage_anchors.requests', '+', requests),
          tokens: old('usage_anchors.tokens', '+', tokens),
        })),
      )
      .execute()
}

/** Forgets what is expected of hours before an instant. */
export const forgetAnchors = async (
  { free }: Pick<Ledger, 'free'>,
  before: number,
): Promise<void> => {
  const work = (trx: Transaction<LedgerTables>) =>
    trx.deleteFrom('usage_anchors').where('hour_at', '<', before).execute()
  await free.write(work, { evenFrozen: true })
}

/**
 * Raises what is expected to what is there, for hours in which more is found: after an upgrade, and
 * after a crash between the two databases. Only for a store that no other coordinator writes to.
 */
export const raiseAnchors = async ({
  ledger,
  records,
}: Pick<Store, 'ledger' | 'records'>): Promise<void> => {
  const anchors = await ledger.read.selectFrom('usage_anchors').selectAll().execute()
  const known = new Map(anchors.map(anchor => [anchor.hour_at, anchor]))
  const hours = await records.read
    .selectFrom('usage_hours')
    .select(['hour_at', 'requests', 'tokens'])
    .execute()
  const higher = hours.filter(({ hour_at, requests, tokens }) => {
    const { requests: least, tokens: fewest } = known.get(hour_at) ?? NOTHING
    return requests >= least && tokens >= fewest && requests + tokens > least + fewest
  })
  if (higher.length === 0) return
  const work = async (trx: Transaction<LedgerTables>) => {
    for (const { hour_at, requests, tokens } of higher)
      await trx
        .insertInto('usage_anchors')
        .values({ hour_at, requests, tokens })
        .onConflict(conflict => conflict.column('hour_at').doUpdateSet({ requests, tokens }))
        .execute()
  }
  await ledger.free.write(work, { evenFrozen: true })
}

const NOTHING = { requests: 0, tokens: 0 }
