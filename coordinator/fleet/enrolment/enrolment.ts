import { newId } from '../../../shared/ids.ts'
import { isSignedBy } from '../../../shared/signing.ts'
import { ENROL_PURPOSE, type EnrolRequest } from '../../../shared/wire/announce.ts'
import { appendAudit } from '../../kernel/audit/audit.ts'
import type { Events } from '../../kernel/events/bus.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { CellRow } from './cell.table.ts'
import { replaceCredential } from './credentials.ts'
import { tokenFault, useToken } from './join-tokens.ts'

/** Reason why the requester does not own the key it presents; undefined when it does. */
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

interface Admittance {
  row: CellRow
  token: string
  now: number
  /** True when a refusal of this token for this reason must be audited. */
  isNews: (tokenId: string, reason: string) => boolean
  addEvents: Events['addWithin']
}

/**
 * Uses the token once and adds the cell, or returns a credential to the cell that lost the answer.
 * Returns the reason of a refusal, which is audited too.
 */
export const admit = async (
  trx: SealedTrx,
  { row, token, now, isNews, addEvents }: Admittance,
): Promise<{ cellId: string } | { reason: string }> => {
  const fault = await tokenFault(trx, row.token_id, token)
  const cellId = fault === undefined ? await giveAgain(trx, row, now) : undefined
  if (cellId !== undefined) return { cellId }
  const reason = fault ?? (await useToken(trx, row.token_id, now))
  if (reason === undefined) {
    await add(trx, row, now)
    const data = { name: row.name }
    await addEvents(trx, [{ type: 'shoal.cell.enrolled', data, subject: row.id }])
    return { cellId: row.id }
  }
  // An invented token id leaves no row, which would let anyone fill the disk.
  if (reason !== 'unknown' && isNews(row.token_id, reason)) {
    const actor = `token:${row.token_id}`
    const entry = { actor, at: now, action: 'token.use', subject: row.token_id }
    await appendAudit(trx, { ...entry, outcome: 'refused', details: { reason } })
  }
  return { reason }
}

/**
 * Repeats an enrolment whose answer was lost: the request has the same token, which must still be
 * valid except for its uses, and the same key, and the cell has not connected yet.
 */
const giveAgain = async (
  trx: SealedTrx,
  { token_id, public_key, digest }: CellRow,
  now: number,
): Promise<string | undefined> => {
  if (public_key === null) return undefined
  const found = await trx
    .selectFrom('cells')
    .innerJoin('join_tokens', 'join_tokens.id', 'cells.token_id')
    .select(['cells.id', 'cells.digest'])
    .where('token_id', '=', token_id)
    .where('public_key', '=', public_key)
    .where('epoch', '=', 0)
    .where('cells.revoked_at', 'is', null)
    .where('quarantined_at', 'is', null)
    .where('join_tokens.revoked_at', 'is', null)
    .where('join_tokens.expires_at', '>', now)
    .executeTakeFirst()
  if (found === undefined) return undefined
  const entry = { actor: `token:${token_id}`, at: now, details: { again: true } }
  await replaceCredential(trx, found, digest, { ...entry, action: 'cell.enrol' })
  return found.id
}

const add = async (trx: SealedTrx, row: CellRow, now: number): Promise<void> => {
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
  const entry = { actor: `token:${row.token_id}`, at: now, subject: row.id, details }
  await appendAudit(trx, { ...entry, action: 'cell.enrol', outcome: 'done' })
}
