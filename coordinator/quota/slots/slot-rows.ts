import type { Transaction } from 'kysely'
import type { Ledger } from '../../store/store.ts'
import type { LedgerTables } from '../../store/tables.ts'
import {
  grantStarts,
  type ReplicaSlotCount,
  type SlotGrant,
  type SlotWish,
  slotAt,
  WINDOW_SLOTS,
} from './slot-grant.ts'

export interface SlotAnswer {
  /** Clock of the store at the time of the grants, unix milliseconds. */
  nowMs: number
  /** In the order of the wishes. */
  grants: readonly SlotGrant[]
}

/** Grants the wishes of a coordinator in one transaction; subjects must not come twice. */
export type ExchangeSlots = (wishes: readonly SlotWish[]) => Promise<SlotAnswer>

/** A count says nothing about what was done: requests go on while the audit is in doubt. */
const EVEN_FROZEN = { evenFrozen: true }

export const createSlotExchange =
  (ledger: Pick<Ledger, 'free' | 'nowMs'>, replica: string): ExchangeSlots =>
  wishes =>
    ledger.free.write(async trx => {
      const subjects = wishes.map(({ subject }) => subject)
      await lockSubjects(trx, subjects.toSorted())
      const nowMs = await ledger.nowMs(trx)
      const rows = await readRows(trx, subjects, slotAt(nowMs) - WINDOW_SLOTS + 1)
      const grants: SlotGrant[] = []
      const changed: (ReplicaSlotCount & { subject: string })[] = []
      for (const wish of wishes) {
        const { subject } = wish
        const { grant, changes } = grantStarts(wish, rows.get(subject) ?? [], { replica, nowMs })
        grants.push(grant)
        for (const change of changes) changed.push({ subject, replica, ...change })
      }
      if (changed.length > 0) await writeRows(trx, changed)
      return { nowMs, grants }
    }, EVEN_FROZEN)

/**
 * Until the transaction ends nobody else counts these subjects. The statements after this one see
 * everything that was committed before.
 */
const lockSubjects = async (
  trx: Transaction<LedgerTables>,
  subjects: readonly string[],
): Promise<void> => {
  await trx
    .insertInto('minute_subjects')
    .values(subjects.map(subject => ({ subject })))
    .onConflict(conflict =>
      conflict.column('subject').doUpdateSet(row => ({ subject: row.ref('excluded.subject') })),
    )
    .execute()
}

const readRows = async (
  trx: Transaction<LedgerTables>,
  subjects: readonly string[],
  oldest: number,
): Promise<Map<string, ReplicaSlotCount[]>> => {
  const rows = await trx
    .selectFrom('minute_slots')
    .selectAll()
    .where('subject', 'in', subjects)
    .where('slot', '>=', oldest)
    .execute()
  return Map.groupBy(rows, ({ subject }) => subject)
}

const writeRows = async (
  trx: Transaction<LedgerTables>,
  rows: (ReplicaSlotCount & { subject: string })[],
): Promise<void> => {
  await trx
    .insertInto('minute_slots')
    .values(rows)
    .onConflict(conflict =>
      conflict
        .columns(['subject', 'slot', 'replica'])
        .doUpdateSet(row => ({ starts: row.ref('excluded.starts') })),
    )
    .execute()
}

/** Deletes what no minute needs any more. */
export const deleteOldSlots = async ({
  free,
  nowMs,
}: Pick<Ledger, 'free' | 'nowMs'>): Promise<void> => {
  await free.write(async trx => {
    const oldest = slotAt(await nowMs(trx)) - WINDOW_SLOTS
    await trx.deleteFrom('minute_slots').where('slot', '<', oldest).execute()
    await trx
      .deleteFrom('minute_subjects')
      .where('subject', 'not in', query => query.selectFrom('minute_slots').select('subject'))
      .execute()
  }, EVEN_FROZEN)
}
