import type { Kysely } from 'kysely'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { digestOf, randomSecret } from '../../access/keys/secret.ts'
import { type AuditEntry, appendAudit } from '../../kernel/audit/audit.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { cellTable, type StoredCell } from './cell.table.ts'
import { readCell } from './cell-rows.ts'
import { pastCredentialTable } from './past-credential.table.ts'

/*
 * The credential of a cell is renewed in two steps, so that a crash between any two of them leaves
 * one that both sides know: a new one is given beside the old; the first use of it ends the old.
 */

/**
 * Adds a second credential. An earlier one that was issued and never used becomes void. Sealed,
 * because the use of that one may be noted at the same time.
 */
export const giveCredential = async (trx: SealedTrx, cellId: string): Promise<string> => {
  const credential = randomSecret()
  const { numUpdatedRows } = await trx
    .updateTable('cells')
    .set({ next_digest: hexDigest(credential) })
    .where('id', '=', cellId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw createUnknownError('cell', cellId)
  await bumpRevision(trx, 'cells')
  return credential
}

/** Makes the new credential the only one; `bootId` is the start of the daemon that has used it. */
export const promoteCredential = async (
  trx: SealedTrx,
  cellId: string,
  digest: string,
  now: number,
  bootId?: string,
): Promise<void> => {
  const cell = await readCell(trx, cellId)
  if (cell === undefined || cell.nextDigest !== digest) return
  const entry = { actor: `cell:${cellId}`, at: now, action: 'cell.credential' }
  await replaceCredential(trx, cell, digest, entry, bootId)
}

/** Makes a digest the only valid one of a cell, and remembers the one that it replaces. */
export const replaceCredential = async (
  trx: SealedTrx,
  cell: Pick<StoredCell, 'id' | 'digest'>,
  digest: string,
  entry: Pick<AuditEntry, 'actor' | 'action' | 'details'> & { at: number },
  bootId?: string,
): Promise<void> => {
  await retire(trx, cell, entry.at, bootId)
  await trx
    .updateTable('cells')
    .set(cellTable.writeSome({ digest, nextDigest: undefined, renewedAt: entry.at }))
    .where('id', '=', cell.id)
    .execute()
  await bumpRevision(trx, 'cells')
  await appendAudit(trx, { ...entry, subject: cell.id, outcome: 'done' })
}

/** Number of superseded credentials kept per cell: five years of monthly renewals. */
const REMEMBERED = 60

/** Stores superseded credentials; presenting one indicates a cloned cell. */
const retire = async (
  trx: SealedTrx,
  { id: cellId, digest }: Pick<StoredCell, 'id' | 'digest'>,
  now: number,
  bootId: string | undefined,
): Promise<void> => {
  const past = pastCredentialTable.write({ cellId, digest, replacedAt: now, bootId })
  await trx.insertInto('past_credentials').values(past).execute()
  const kept = trx
    .selectFrom('past_credentials')
    .select('digest')
    .where('cell_id', '=', cellId)
    .orderBy('replaced_at', 'desc')
    .limit(REMEMBERED)
  await trx
    .deleteFrom('past_credentials')
    .where('cell_id', '=', cellId)
    .where('digest', 'not in', kept)
    .execute()
}

/**
 * True when the credential is superseded. One that was issued and never used is not, and neither is
 * one of the start that replaced it: a request of that start may still be in flight.
 */
export const isPast = async (
  db: Kysely<LedgerTables>,
  cellId: string,
  credential: string,
  bootId: string,
): Promise<boolean> => {
  const found = await db
    .selectFrom('past_credentials')
    .select('boot_id')
    .where('cell_id', '=', cellId)
    .where('digest', '=', hexDigest(credential))
    .executeTakeFirst()
  return found !== undefined && found.boot_id !== bootId
}

export const isNext = ({ nextDigest }: Pick<StoredCell, 'nextDigest'>, credential: string) =>
  nextDigest !== undefined && nextDigest === hexDigest(credential)

const hexDigest = (credential: string): string => digestOf(credential).toString('hex')
