import { type Kysely, sql } from 'kysely'
import { canonicalJson } from '../../../shared/canonical-json.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { nextSequenceWith } from '../store/sequences.ts'
import type { SealedTrx, Store } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import type { AuditRow } from './audit.table.ts'
import { GENESIS, rowHash } from './chain.ts'
import { redact, redactText } from './redact.ts'

/** Author of an action, as recorded in the audit. */
export interface Actor {
  /** A key's or person's id, or `local:<user>` for the admin program on the machine itself. */
  actor: string
  requestId?: string
}

export interface AuditEntry extends Actor {
  /** Unix milliseconds by the clock of the coordinator. */
  at: number
  /** Absent for what belongs to no tenant. */
  tenant?: string
  /** `key.create`: noun and verb. */
  action: string
  /** Id of the thing that was acted on. */
  subject: string
  outcome: 'done' | 'refused'
  /** Details of the event, without secrets or prompt text. */
  details?: Record<string, unknown>
}

/** The newest row: who holds it can tell whether rows were cut off later. */
export interface Head {
  seq: number
  hash: string
}

/**
 * Row that the next one is chained to, read in the statement that numbers it; null in an empty
 * audit.
 */
interface NewestRow {
  newest: number | null
  hash: string | null
}

const NEWEST = sql`(select seq from audit order by seq desc limit 1) as newest,
  (select hash from audit order by seq desc limit 1) as hash`
const FIRST: Head = { seq: 0, hash: GENESIS }

/**
 * Adds one row inside the transaction of the change that it records. Throws `audit_broken` when the
 * newest row is not the one that was numbered last: what follows a cut must not look whole.
 */
export const appendAudit = async (trx: SealedTrx, entry: AuditEntry): Promise<Head> => {
  const { value: seq, newest, hash } = await nextSequenceWith<NewestRow>(trx, 'audit', NEWEST)
  const last = newest === null || hash === null ? FIRST : { seq: newest, hash }
  const fault = counterFault(last.seq, { least: seq - 1, most: seq - 1 })
  if (fault !== undefined) throw new ShoalError('audit_broken', fault)
  const unsealed = rowOf(entry, last)
  const row: AuditRow = { ...unsealed, hash: rowHash(unsealed) }
  await trx.insertInto('audit').values(row).execute()
  return { seq: row.seq, hash: row.hash }
}

/**
 * Returns the fault of the newest row compared with the counter that numbers rows; undefined when
 * they agree. The counter was between `least` and `most` when the row was read. Rows that were cut
 * off without resetting the counter are detected without a witness.
 */
export const counterFault = (
  newest: number,
  { least, most }: { least: number; most: number },
): string | undefined => {
  if (newest < least) return `row ${least} was numbered and is gone: the end was cut off`
  return newest > most ? `row ${newest} was never numbered` : undefined
}

/** The last link of the chain. As text, because every row that is added reads it first. */
export const newestRow = async (db: Kysely<LedgerTables>): Promise<Head | undefined> => {
  const { rows } = await sql<Head>`select seq, hash from audit order by seq desc limit 1`.execute(
    db,
  )
  return rows[0]
}

const rowOf = (entry: AuditEntry, last: Head): Omit<AuditRow, 'hash'> => ({
  seq: last.seq + 1,
  at: entry.at,
  actor: redactText(entry.actor),
  tenant: entry.tenant === undefined ? null : redactText(entry.tenant),
  action: entry.action,
  subject: redactText(entry.subject),
  outcome: entry.outcome,
  details_json: canonicalJson(redact(entry.details ?? {})),
  request_id: entry.requestId?.toWellFormed() ?? null,
  prev: last.hash,
})

interface Audit {
  /**
   * Adds one row, inside the transaction of the change that it records where there is one.
   * Without one it resolves when the row is on the disk.
   */
  append(entry: AuditEntry, trx?: SealedTrx): Promise<Head>
}

export const createAudit = ({ ledger }: Pick<Store, 'ledger'>): Audit => ({
  append: (entry, trx) =>
    trx === undefined
      ? ledger.sealed.write(own => appendAudit(own, entry))
      : appendAudit(trx, entry),
})
