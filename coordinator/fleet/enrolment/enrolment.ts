import { isSignedBy } from '../../../shared/signing.ts'
import { ENROL_PURPOSE, type EnrolRequest } from '../../../shared/wire/announce.ts'
import { appendAudit } from '../../kernel/audit/audit.ts'
import type { Events } from '../../kernel/events/bus.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import { cellTable, type StoredCell } from './cell.table.ts'
import { replaceCredential } from './credentials.ts'
import { joinTokenTable } from './join-token.table.ts'
import { tokenFault, useToken } from './join-tokens.ts'

/** Reason why the requester does not own the key it presents; undefined when it does. */
export const keyFault = ({ token, name, public_key, proof }: EnrolRequest): string | undefined => {
  if (public_key === undefined) return undefined
  return isSignedBy(public_key, ENROL_PURPOSE, { token, name, public_key }, proof ?? '')
    ? undefined
    : 'the proof does not fit the key'
}

export const newCell = (
  { name, public_key }: EnrolRequest,
  { id, tokenId, digest, now }: { id: string; tokenId: string; digest: string; now: number },
): StoredCell => ({
  id,
  name,
  digest,
  renewedAt: now,
  publicKey: public_key,
  tags: [],
  tokenId,
  enrolledAt: now,
  epoch: 0,
})

interface Admittance {
  cell: StoredCell
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
  { cell, token, now, isNews, addEvents }: Admittance,
): Promise<{ cellId: string } | { reason: string }> => {
  const { tokenId } = cell
  const fault = await tokenFault(trx, tokenId, token)
  const cellId = fault === undefined ? await giveAgain(trx, cell, now) : undefined
  if (cellId !== undefined) return { cellId }
  const reason = fault ?? (await useToken(trx, tokenId, now))
  if (reason === undefined) {
    await add(trx, cell, now)
    const data = { name: cell.name }
    await addEvents(trx, [{ type: 'shoal.cell.enrolled', data, subject: cell.id }])
    return { cellId: cell.id }
  }
  // An invented token id leaves no row, which would let anyone fill the disk.
  if (reason !== 'unknown' && isNews(tokenId, reason)) {
    const actor = `token:${tokenId}`
    const entry = { actor, at: now, action: 'token.use', subject: tokenId }
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
  { tokenId, publicKey, digest }: StoredCell,
  now: number,
): Promise<string | undefined> => {
  if (publicKey === undefined) return undefined
  const found = await trx
    .selectFrom('cells')
    .innerJoin('join_tokens', 'join_tokens.id', 'cells.token_id')
    .select(['cells.id', 'cells.digest'])
    .where('token_id', '=', tokenId)
    .where('public_key', '=', publicKey)
    .where('epoch', '=', 0)
    .where('cells.revoked_at', 'is', null)
    .where('quarantined_at', 'is', null)
    .where('join_tokens.revoked_at', 'is', null)
    .where('join_tokens.expires_at', '>', now)
    .executeTakeFirst()
  if (found === undefined) return undefined
  const entry = { actor: `token:${tokenId}`, at: now, details: { again: true } }
  await replaceCredential(trx, found, digest, { ...entry, action: 'cell.enrol' })
  return found.id
}

const add = async (trx: SealedTrx, cell: StoredCell, now: number): Promise<void> => {
  const token = await trx
    .selectFrom('join_tokens')
    .select('tags_json')
    .where('id', '=', cell.tokenId)
    .executeTakeFirstOrThrow()
  const { tags } = joinTokenTable.readSome(token)
  await trx
    .insertInto('cells')
    .values(cellTable.write({ ...cell, tags }))
    .execute()
  await bumpRevision(trx, 'cells')
  const { id, name, tokenId, publicKey = null } = cell
  const details = { name, token: tokenId, public_key: publicKey }
  const entry = { actor: `token:${tokenId}`, at: now, subject: id, details }
  await appendAudit(trx, { ...entry, action: 'cell.enrol', outcome: 'done' })
}
