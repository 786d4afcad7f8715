import type { Transaction } from 'kysely'
import { newId } from '../../shared/ids.ts'
import { isSignedBy } from '../../shared/signing.ts'
import { ENROL_PURPOSE, type EnrolRequest } from '../../shared/wire/announce.ts'
import { appendAudit } from '../audit/audit.ts'
import { bumpRevision } from '../store/revisions.ts'
import type { CellRow, LedgerTables } from '../store/tables.ts'
import { useToken } from './join-tokens.ts'

/** Why a machine that asks to be a cell does not own the key it shows, or undefined. */
export const keyFault = ({ token, name, public_key, proof }: EnrolRequest): string | undefined => {
  if (public_key === undefined) return undefined
  return isSignedBy(public_key, ENROL_PURPOSE, { token, name, public_key }, proof ?? '')
    ? undefined
    : 'the proof does not fit the key'
}

export const newCellRow = (
  { name, public_key }: EnrolRequest,
  tokenId: string,
  digest: string,
  now: number,
): CellRow => ({
  id: newId('cell', now),
  name,
  digest,
  next_digest: null,
  renewed_at: now,
  public_key: public_key ?? null,
  tags_json: '[]',
  token_id: tokenId,
  enrolled_at: now,
  revoked_at: null,
  quarantined_at: null,
  epoch: 0,
})

/** Takes a use of the token and adds the cell. Answers why not; that is audited too. */
export const admit = async (
  trx: Transaction<LedgerTables>,
  row: CellRow,
  token: string,
  now: number,
): Promise<string | undefined> => {
  const reason = await useToken(trx, row.token_id, token, now)
  // An invented token id leaves no row: anybody could fill the disk with them.
  if (reason === 'unknown') return reason
  const actor = `token:${row.token_id}`
  if (reason !== undefined) {
    const entry = { actor, at: now, action: 'token.use', subject: row.token_id }
    await appendAudit(trx, { ...entry, outcome: 'refused', details: { reason } })
    return reason
  }
  const { tags_json } = await trx
    .selectFrom('join_tokens')
    .select('tags_json')
    .where('id', '=', row.token_id)
    .executeTakeFirstOrThrow()
  await trx
    .insertInto('cells')
    .values({ ...row, tags_json })
    .execute()
  await bumpRevision(trx, 'cells')
  const details = { name: row.name, token: row.token_id, public_key: row.public_key }
  const entry = { actor, at: now, action: 'cell.enrol', subject: row.id, details }
  await appendAudit(trx, { ...entry, outcome: 'done' })
  return undefined
}
