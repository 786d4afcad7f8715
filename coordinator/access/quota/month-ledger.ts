import type { Kysely, Transaction } from 'kysely'
import type { LedgerTables } from '../../kernel/store/tables.ts'

type Reader = Kysely<LedgerTables>
type Change = Transaction<LedgerTables>

/** Requests of a subject that are spent or leased, in every process. */
export const readReserved = async (db: Reader, month: string, subject: string): Promise<number> => {
  const row = await db
    .selectFrom('quotas')
    .select('reserved')
    .where('month', '=', month)
    .where('subject', '=', subject)
    .executeTakeFirst()
  return row?.reserved ?? 0
}

/** The latest month in which anything was counted. */
export const latestMonth = async (db: Reader): Promise<string | undefined> => {
  const query = db.selectFrom('quotas').select('month').orderBy('month', 'desc').limit(1)
  return (await query.executeTakeFirst())?.month
}

interface QuotaGrant {
  granted: number
  /** The subject's new total. */
  reserved: number
}

interface LeaseRequest {
  month: string
  subject: string
  limit: number
  /** Callers that wait for a request each. */
  waiting: number
  /** Processes that lease from the same ledger. */
  replicas: number
}

/** Reserves some requests, never past the limit. */
export const reserve = async (trx: Change, request: LeaseRequest): Promise<QuotaGrant> => {
  const { month, subject } = request
  // also locks the row, so that what is read here is still so when it is changed
  const { reserved: before } = await trx
    .insertInto('quotas')
    .values({ month, subject, reserved: 0 })
    .onConflict(conflict =>
      conflict
        .columns(['month', 'subject'])
        .doUpdateSet(row => ({ reserved: row.ref('quotas.reserved') })),
    )
    .returning('reserved')
    .executeTakeFirstOrThrow()
  const granted = leaseSize({ ...request, reserved: before })
  if (granted === 0) return { granted, reserved: before }
  await trx
    .updateTable('quotas')
    .set(row => ({ reserved: row('reserved', '+', granted) }))
    .where('month', '=', month)
    .where('subject', '=', subject)
    .execute()
  return { granted, reserved: before + granted }
}

/**
 * A hundredth of the limit, at most 100, and single requests towards the end, so that little is
 * held back from other processes when it gets scarce. At least what is asked for at once.
 */
export const leaseSize = ({
  limit,
  reserved,
  waiting,
  replicas,
}: Pick<LeaseRequest, 'limit' | 'waiting' | 'replicas'> & { reserved: number }): number => {
  const left = Math.max(0, limit - reserved)
  const ahead = Math.min(100, Math.floor(limit / 100), Math.floor(left / (10 * replicas)))
  return Math.min(left, Math.max(1, ahead, waiting))
}

/** Gives back what was leased and not spent. */
export const giveBack = async (
  trx: Change,
  month: string,
  subject: string,
  unspent: number,
): Promise<void> => {
  await trx
    .updateTable('quotas')
    .set(row => ({ reserved: row('reserved', '-', unspent) }))
    .where('month', '=', month)
    .where('subject', '=', subject)
    .where('reserved', '>=', unspent)
    .execute()
}

/** Drops the counts of months before this one. */
export const forgetBefore = async (trx: Change, month: string): Promise<void> => {
  await trx.deleteFrom('quotas').where('month', '<', month).execute()
}
