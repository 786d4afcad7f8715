import type { Transaction } from 'kysely'
import { ShoalError } from '../../shared/errors.ts'
import { appendAudit } from '../audit/audit.ts'
import { bumpRevision } from '../store/revisions.ts'
import type { CellRow, LedgerTables } from '../store/tables.ts'
import { digestOf, randomSecret } from './secret.ts'

/*
 * The credential of a cell is renewed in two steps, so that a crash between any two of them leaves
 * one that both sides know: a new one is given beside the old; the first use of it ends the old.
 */

/** Adds a second credential. One that was given before and never used is void. */
export const giveCredential = async (
  trx: Transaction<LedgerTables>,
  cellId: string,
): Promise<string> => {
  const credential = randomSecret()
  const { numUpdatedRows } = await trx
    .updateTable('cells')
    .set({ next_digest: hexDigest(credential) })
    .where('id', '=', cellId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw new ShoalError('not_found', `no cell ${cellId}`)
  await bumpRevision(trx, 'cells')
  return credential
}

/** Makes the new credential the only one. */
export const settleCredential = async (
  trx: Transaction<LedgerTables>,
  cellId: string,
  digest: string,
  now: number,
): Promise<void> => {
  const { numUpdatedRows } = await trx
    .updateTable('cells')
    .set({ digest, next_digest: null, renewed_at: now })
    .where('id', '=', cellId)
    .where('next_digest', '=', digest)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return
  await bumpRevision(trx, 'cells')
  const entry = { actor: `cell:${cellId}`, at: now, action: 'cell.credential', subject: cellId }
  await appendAudit(trx, { ...entry, outcome: 'done' })
}

export const isNext = ({ next_digest }: Pick<CellRow, 'next_digest'>, credential: string) =>
  next_digest !== null && next_digest === hexDigest(credential)

const hexDigest = (credential: string): string => digestOf(credential).toString('hex')
