import { timingSafeEqual } from 'node:crypto'
import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { digestOf, newSecret, TOKEN_PREFIX } from '../../access/keys/secret.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import { joinTokenTable, type StoredToken } from './join-token.table.ts'

/** A token without its secret. */
export interface JoinToken extends Omit<StoredToken, 'digest' | 'role'> {
  role: 'cell'
}

export interface NewToken {
  uses: number
  tags?: string[]
  /** Tenant whose operators see the token; absent when only the machine's own commands do. */
  tenantId?: string
  /** Lifetime from now, in minutes. */
  ttlMinutes: number
}

/**
 * A token for many machines could let in a fleet of strangers: it takes an approval at the gate
 * `gate.cell-enroll`, which is asked over the API. Throws `forbidden`.
 */
export const requireSingleUse = (uses: number): void => {
  if (uses > 1)
    throw new ShoalError(
      'forbidden',
      `a join token for ${uses} machines needs an approval at gate.cell-enroll; ask with shoal tokens create --uses ${uses}`,
    )
}

/** Creates a token; its time is that of the store where none is given. */
export const createToken = (
  ledger: Ledger,
  token: NewToken,
  by: Actor,
  now?: number,
): Promise<IssuedToken> =>
  ledger.sealed.write(async trx => addToken(trx, token, by, now ?? (await ledger.nowMs(trx))))

export interface IssuedToken {
  token: JoinToken
  /** The whole token. It is not stored and cannot be read again. */
  secret: string
}

/** Adds a token inside a transaction. */
export const addToken = async (
  trx: SealedTrx,
  { uses, ttlMinutes, tags = [], tenantId }: NewToken,
  by: Actor,
  now: number,
): Promise<IssuedToken> => {
  if (!(Number.isInteger(uses) && uses >= 1))
    throw new ShoalError('invalid_request', 'uses must be 1 or more', { param: 'uses' })
  if (tags.length > 64 || tags.some(tag => tag === '' || tag.length > 64))
    throw new ShoalError('invalid_request', 'at most 64 tags of 1 to 64 characters', {
      param: 'tags',
    })
  const { id, text, digest } = newSecret(TOKEN_PREFIX)
  const expiresAt = now + ttlMinutes * 60_000
  const stored: StoredToken = {
    id,
    digest,
    uses,
    usesLeft: uses,
    createdAt: now,
    expiresAt,
    role: 'cell',
    tags,
    tenantId,
  }
  await trx.insertInto('join_tokens').values(joinTokenTable.write(stored)).execute()
  const details = { uses, tags, role: stored.role, expires_at: expiresAt }
  const entry = { ...by, ...tenantOf(stored), at: now, action: 'token.create', subject: id }
  await appendAudit(trx, { ...entry, outcome: 'done', details })
  return { token: tokenOf(stored), secret: text }
}

/** Lists the tokens of a tenant, or of all, oldest first. */
export const listTokens = async (ledger: Ledger, tenantId?: string): Promise<JoinToken[]> => {
  const all = ledger.read.selectFrom('join_tokens').selectAll()
  const query = tenantId === undefined ? all : all.where('tenant_id', '=', tenantId)
  return (await query.orderBy('created_at').orderBy('id').execute())
    .map(joinTokenTable.read)
    .map(tokenOf)
}

/**
 * Revokes a token, where a tenant is given one of that tenant; cells that joined with it stay.
 * Throws `not_found`.
 */
export const revokeToken = (
  ledger: Ledger,
  { id, tenantId }: { id: string; tenantId?: string },
  by: Actor,
  now?: number,
): Promise<JoinToken> =>
  ledger.sealed.write(async trx => {
    const at = now ?? (await ledger.nowMs(trx))
    const named = trx
      .updateTable('join_tokens')
      .set(({ fn, val }) => ({ revoked_at: fn.coalesce('revoked_at', val(at)) }))
      .where('id', '=', id)
    const owned = tenantId === undefined ? named : named.where('tenant_id', '=', tenantId)
    const row = await owned.returningAll().executeTakeFirst()
    if (row === undefined) throw createUnknownError('join token', id)
    const stored = joinTokenTable.read(row)
    const entry = { ...by, ...tenantOf(stored), at, action: 'token.revoke', subject: id }
    await appendAudit(trx, { ...entry, outcome: 'done' })
    return tokenOf(stored)
  })

/** Reason why the token is not valid for that id; undefined when it is. */
export const tokenFault = async (
  trx: SealedTrx,
  id: string,
  presented: string,
): Promise<'unknown' | 'wrong secret' | undefined> => {
  const row = await trx
    .selectFrom('join_tokens')
    .select('digest')
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined) return 'unknown'
  return timingSafeEqual(Buffer.from(row.digest, 'hex'), digestOf(presented))
    ? undefined
    : 'wrong secret'
}

/**
 * Uses the token once, by one conditional UPDATE, so that no two callers get the last use. Returns
 * undefined on success, or the reason of the refusal, for the log and the audit but not for the
 * caller.
 */
export const useToken = async (
  trx: SealedTrx,
  id: string,
  now: number,
): Promise<'expired, used up or revoked' | undefined> => {
  const { numUpdatedRows } = await trx
    .updateTable('join_tokens')
    .set(token => ({ uses_left: token('uses_left', '-', 1) }))
    .where('id', '=', id)
    .where('uses_left', '>', 0)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return numUpdatedRows === 1n ? undefined : 'expired, used up or revoked'
}

/** Tenant of the token's audit rows, which only its operators see. */
const tenantOf = ({ tenantId }: StoredToken): { tenant?: string } =>
  tenantId === undefined ? {} : { tenant: tenantId }

const tokenOf = ({ digest: _, ...token }: StoredToken): JoinToken => ({ ...token, role: 'cell' })
