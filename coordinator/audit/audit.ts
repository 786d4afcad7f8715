import { setImmediate } from 'node:timers/promises'
import type { Transaction } from 'kysely'
import { canonicalJson } from '../../shared/canonical-json.ts'
import type { Ledger, Store } from '../store/store.ts'
import type { AuditRow, LedgerTables } from '../store/tables.ts'
import { GENESIS, linkFault, rowHash } from './chain.ts'
import { redacted } from './redact.ts'

/** Who does something, for the audit. */
export interface Actor {
  /** A key's or person's id, or `local:<user>` for the admin program on the machine itself. */
  actor: string
  requestId?: string
}

export interface AuditEntry extends Actor {
  /** Unix milliseconds; now by default. */
  at?: number
  /** Absent for what belongs to no tenant. */
  tenant?: string
  /** `key.create`: noun and verb. */
  action: string
  /** Id of the thing that was acted on. */
  subject: string
  outcome: 'done' | 'refused'
  /** Never a secret, never a prompt. */
  details?: Record<string, unknown>
}

/** The newest row: who holds it can tell whether rows were cut off later. */
export interface Head {
  seq: number
  hash: string
}

export type Verdict =
  | { ok: true; rows: number; head: Head }
  | { ok: false; brokenAt: number; reason: string }

/** Adds one row inside the transaction of the change that it records. */
export const appendAudit = async (
  trx: Transaction<LedgerTables>,
  entry: AuditEntry,
): Promise<Head> => {
  const last = await trx
    .selectFrom('audit')
    .select(['seq', 'hash'])
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  const unsealed = rowOf(entry, last ?? { seq: 0, hash: GENESIS })
  const row: AuditRow = { ...unsealed, hash: rowHash(unsealed) }
  await trx.insertInto('audit').values(row).execute()
  return { seq: row.seq, hash: row.hash }
}

const rowOf = (entry: AuditEntry, last: Head): Omit<AuditRow, 'hash'> => ({
  seq: last.seq + 1,
  at: entry.at ?? Date.now(),
  actor: entry.actor,
  tenant: entry.tenant ?? null,
  action: entry.action,
  subject: entry.subject,
  outcome: entry.outcome,
  details_json: canonicalJson(redacted(entry.details ?? {})),
  request_id: entry.requestId ?? null,
  prev: last.hash,
})

export interface Audit {
  /**
   * Adds one row, inside the transaction of the change that it records where there is one.
   * Without one it resolves when the row is on the disk.
   */
  append(entry: AuditEntry, trx?: Transaction<LedgerTables>): Promise<Head>
  /** Checks every link of the chain, and the witness: a head that was seen before. */
  verify(witness?: Head): Promise<Verdict>
}

export const createAudit = ({ ledger }: Pick<Store, 'ledger'>): Audit => ({
  append: (entry, trx) =>
    trx === undefined ? ledger.write(own => appendAudit(own, entry)) : appendAudit(trx, entry),
  verify: witness => verifyAudit(ledger, witness),
})

const PAGE = 500

/**
 * Reads the whole chain, a page per turn of the event loop, and checks every link. A chain alone
 * cannot tell that its end was cut off: `witness`, a head seen before, can.
 */
export const verifyAudit = async (ledger: Ledger, witness?: Head): Promise<Verdict> => {
  let head: Head = { seq: 0, hash: GENESIS }
  for (let first = true; ; first = false) {
    const rows = await page(ledger, first ? undefined : head.seq)
    for (const row of rows) {
      const reason = linkFault(row, head.seq + 1, head.hash) ?? witnessFault(row, witness)
      if (reason !== undefined) return { ok: false, brokenAt: head.seq + 1, reason }
      head = { seq: row.seq, hash: row.hash }
    }
    if (rows.length < PAGE) break
    await setImmediate()
  }
  if (witness !== undefined && witness.seq > head.seq)
    return { ok: false, brokenAt: head.seq + 1, reason: `rows after ${head.seq} were cut off` }
  return { ok: true, rows: head.seq, head }
}

/** The first page has no lower bound: a row with number 0 would be a forged one. */
const page = (ledger: Ledger, after: number | undefined): Promise<AuditRow[]> => {
  const query = ledger.read.selectFrom('audit').selectAll().orderBy('seq').limit(PAGE)
  return (after === undefined ? query : query.where('seq', '>', after)).execute()
}

const witnessFault = (row: AuditRow, witness: Head | undefined): string | undefined =>
  witness?.seq === row.seq && witness.hash !== row.hash
    ? `row ${row.seq} is not the one that was witnessed`
    : undefined

const running = new WeakMap<Ledger, Promise<Verdict>>()

/** The same for many who ask at once: the chain is read by one at a time. */
export const verifyOnce = (ledger: Ledger): Promise<Verdict> => {
  const shared = running.get(ledger) ?? verifyAudit(ledger).finally(() => running.delete(ledger))
  running.set(ledger, shared)
  return shared
}
