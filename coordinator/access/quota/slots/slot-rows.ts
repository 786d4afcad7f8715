import type { Transaction } from 'kysely'
import { selectLiveReplicas } from '../../../kernel/replicas/live-rows.ts'
import type { Ledger } from '../../../kernel/store/store.ts'
import type { LedgerTables } from '../../../kernel/store/tables.ts'
import {
  COUNTED_MS,
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
  /** Grants in the order of the wishes. */
  grants: readonly SlotGrant[]
  /** Time at which the counts were found lost, unix milliseconds; 0 when they never were. */
  bornMs: number
  /** True while the coordinators report again what was lost: nothing is granted meanwhile. */
  isSettling: boolean
}

/**
 * Grants the wishes of a coordinator in one transaction; subjects must not come twice. `reportedBirth`
 * is the `bornMs` since which this coordinator has reported everything, this batch included.
 */
export type ExchangeSlots = (
  wishes: readonly SlotWish[],
  reportedBirth?: number,
) => Promise<SlotAnswer>

/** Least time of settling: coordinators whose row was lost too have registered again by then. */
const SETTLING_MS = 1500

/** A count says nothing about what was done: requests go on while the audit is in doubt. */
const EVEN_FROZEN = { evenFrozen: true }

/** Requests wait for the answer. */
const AT_ONCE = { ...EVEN_FROZEN, isUrgent: true }

type SlotLedger = Pick<Ledger, 'free' | 'nowMs' | 'clock'>

export const createSlotExchange =
  (ledger: SlotLedger, replica: string): ExchangeSlots =>
  (wishes, reportedBirth) =>
    ledger.free.write(async trx => {
      const subjects = wishes.map(({ subject }) => subject)
      if (subjects.length > 0) await lockSubjects(trx, subjects.toSorted())
      const clock = await ledger.clock(trx)
      const { nowMs } = clock
      const bornMs = await readBirth(trx, clock)
      const isSettling = await isSettlingAt(trx, { nowMs, bornMs, replica, reportedBirth })
      if (subjects.length === 0) return { nowMs, bornMs, isSettling, grants: [] }
      const rows = await readRows(trx, subjects, slotAt(nowMs) - WINDOW_SLOTS + 1)
      const answers = wishes.map(({ wanted, ...wish }) =>
        grantStarts({ ...wish, wanted: isSettling ? 0 : wanted }, rows.get(wish.subject) ?? [], {
          replica,
          nowMs,
        }),
      )
      const changes = answers.flatMap((answer, index) =>
        answer.changes.map(change => ({ subject: subjects[index] as string, replica, ...change })),
      )
      if (changes.length > 0) await writeRows(trx, changes)
      return { nowMs, bornMs, isSettling, grants: answers.map(({ grant }) => grant) }
    }, AT_ONCE)

/**
 * Locks the subjects: until the transaction ends no other process counts these subjects. The
 * statements after this one see everything that was committed before.
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

/** Begins the time of settling when the counts were lost: with the row, or with a change of history. */
const readBirth = async (
  trx: Transaction<LedgerTables>,
  { nowMs, history }: { nowMs: number; history: string },
): Promise<number> => {
  const read = () => trx.selectFrom('minute_birth').select(['at', 'history']).executeTakeFirst()
  const row = await read()
  if (row?.history === history) return row.at
  // of several coordinators that see it, the first one changes the row
  if (row === undefined)
    await trx
      .insertInto('minute_birth')
      .values({ id: 1, at: nowMs, history })
      .onConflict(conflict => conflict.column('id').doNothing())
      .execute()
  else
    await trx
      .updateTable('minute_birth')
      .set({ history, ...(row.history !== '' && { at: nowMs }) })
      .where('history', '=', row.history)
      .execute()
  return (await read())?.at ?? nowMs
}

/**
 * True while a coordinator that may have started requests in this minute has not reported them since
 * the counts were lost. One that is dead or cut off can do no more than spend its last grants.
 */
const isSettlingAt = async (
  trx: Transaction<LedgerTables>,
  {
    nowMs,
    bornMs,
    replica,
    reportedBirth,
  }: { nowMs: number; bornMs: number; replica: string; reportedBirth: number | undefined },
): Promise<boolean> => {
  if (nowMs - bornMs >= COUNTED_MS) return false
  if (reportedBirth === bornMs)
    await trx
      .insertInto('minute_reports')
      .values({ replica, birth: bornMs })
      .onConflict(conflict => conflict.column('replica').doUpdateSet({ birth: bornMs }))
      .execute()
  const missing = await selectLiveReplicas(trx, nowMs - COUNTED_MS)
    .select('replicas.id')
    .where('replicas.id', 'not in', query =>
      query.selectFrom('minute_reports').select('replica').where('birth', '=', bornMs),
    )
    .limit(1)
    .executeTakeFirst()
  return missing !== undefined || nowMs - bornMs < SETTLING_MS
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
      .deleteFrom('minute_reports')
      .where('birth', 'not in', query => query.selectFrom('minute_birth').select('at'))
      .execute()
    await trx
      .deleteFrom('minute_subjects')
      .where('subject', 'not in', query => query.selectFrom('minute_slots').select('subject'))
      .execute()
  }, EVEN_FROZEN)
}
