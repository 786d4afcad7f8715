import { timingSafeEqual } from 'node:crypto'
import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { countMatchingRows } from '../../kernel/store/count.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import { digestOf, newSecret, parseSecret } from '../keys/secret.ts'
import { getTenant } from '../people/tenants.ts'
import { keyClaimTable } from './key-claim.table.ts'

/** Settings of key requests by people without a key. */
export const VisitorSettings = z.strictObject({
  public_request: z
    .boolean()
    .default(false)
    .describe('Whether visitors without a key may request one. People approve each request.'),
  public_tenant: z
    .string()
    .default('main')
    .describe('Tenant of visitors: its administrators approve their keys.'),
  public_open: z
    .int()
    .min(1)
    .max(10_000)
    .default(50)
    .describe('Requests of visitors that may be open at once, all together.'),
  public_per_hour: z
    .int()
    .min(1)
    .max(1000)
    .default(5)
    .describe('Requests from one address (IPv6: one /64) within an hour.'),
})
export type VisitorSettings = z.output<typeof VisitorSettings>

/** Begins every claim token. */
const CLAIM_PREFIX = 'shl_claim_'

interface Visitor {
  /** Requester at the gate: `visitor:` and the id of the token. */
  requesterId: string
  tenantId: string
  /** Claim token, shown once; only its digest is stored. Its holder receives the key. */
  claimToken: string
}

/**
 * Visitors: a visitor's request belongs only to the holder of its claim token, so the identity that
 * the visitor states need not be trusted.
 */
export interface Visitors {
  /**
   * One visitor more. Throws `auth_required` when visitors may not ask here, `rate_limited` when
   * the address has asked often, or too many requests are open.
   */
  admit(address: string, lifetimeMs: number): Promise<Visitor>
  /** Returns the requester of a claim token; undefined when the token is wrong or has expired. */
  requesterOf(claimToken: string): Promise<string | undefined>
  /** Undoes `admit`. */
  dismiss(visitor: Visitor): Promise<void>
}

interface VisitorsParts {
  ledger: Ledger
  settings: VisitorSettings
  /** Unix time, milliseconds. */
  now: () => number
}

const HOUR_MS = 3_600_000
const UNKNOWN = Buffer.alloc(32)

export const createVisitors = ({ ledger, settings, now }: VisitorsParts): Visitors => {
  const requireOpen = async (): Promise<void> => {
    const tenant = settings.public_request
      ? await getTenant(ledger, settings.public_tenant)
      : undefined
    if (tenant === undefined || tenant.disabledAt !== undefined)
      throw new ShoalError('auth_required', 'visitors cannot request a key here')
  }

  const admit: Visitors['admit'] = async (address, lifetimeMs) => {
    await requireOpen()
    const { id, text, digest } = newSecret(CLAIM_PREFIX)
    const visitor = { requesterId: `visitor:${id}`, tenantId: settings.public_tenant }
    await ledger.sealed.write(async trx => {
      const at = now()
      await countRequest(trx, { id, address, at, limit: settings.public_per_hour })
      await trx.deleteFrom('key_claims').where('expires_at', '<=', at).execute()
      if ((await countOpen(trx, at)) >= settings.public_open)
        throw new ShoalError('rate_limited', 'too many requests of visitors are open', {
          retryAfterSeconds: HOUR_MS / 1000,
        })
      const claim = { ...visitor, id, digest, createdAt: at, expiresAt: at + lifetimeMs }
      await trx.insertInto('key_claims').values(keyClaimTable.write(claim)).execute()
    })
    return { ...visitor, claimToken: text }
  }

  const requesterOf: Visitors['requesterOf'] = async claimToken => {
    const id = parseSecret(CLAIM_PREFIX, claimToken)
    if (id === undefined) return undefined
    const row = await ledger.read
      .selectFrom('key_claims')
      .selectAll()
      .where('id', '=', id)
      .where('expires_at', '>', now())
      .executeTakeFirst()
    const stored = row === undefined ? UNKNOWN : Buffer.from(row.digest, 'hex')
    return timingSafeEqual(stored, digestOf(claimToken)) ? row?.requester_id : undefined
  }

  const dismiss: Visitors['dismiss'] = ({ requesterId }) =>
    ledger.free.write(async trx => {
      await trx.deleteFrom('key_claims').where('requester_id', '=', requesterId).execute()
    })

  return { admit, requesterOf, dismiss }
}

interface VisitorRequest {
  id: string
  address: string
  at: number
  /** Requests of an address within an hour. */
  limit: number
}

/**
 * Counts a request of a visitor. Only the digest of the address is stored, for an hour. Throws
 * `rate_limited`.
 */
const countRequest = async (
  trx: SealedTrx,
  { id, address, at, limit }: VisitorRequest,
): Promise<void> => {
  await trx
    .deleteFrom('visitor_requests')
    .where('at', '<=', at - HOUR_MS)
    .execute()
  const address_digest = digestOf(address).toString('hex')
  const recent = await trx
    .selectFrom('visitor_requests')
    .select('at')
    .where('address_digest', '=', address_digest)
    .orderBy('at', 'desc')
    .limit(limit)
    .execute()
  const first = recent[limit - 1]
  if (first !== undefined)
    throw new ShoalError('rate_limited', `${limit} requests an hour are allowed`, {
      retryAfterSeconds: Math.max(1, Math.ceil((first.at + HOUR_MS - at) / 1000)),
    })
  await trx.insertInto('visitor_requests').values({ id, address_digest, at }).execute()
}

/** Claims whose request waits, may still be used, or is about to be made. */
const countOpen = (trx: SealedTrx, now: number): Promise<number> => {
  const open = trx
    .selectFrom('key_claims')
    .leftJoin('gate_requests', join =>
      join
        .onRef('gate_requests.tenant_id', '=', 'key_claims.tenant_id')
        .onRef('gate_requests.requester_id', '=', 'key_claims.requester_id'),
    )
    .where(({ and, eb, or }) =>
      or([
        eb('gate_requests.state', 'is', null),
        and([eb('gate_requests.state', '=', 'pending'), eb('gate_requests.expires_at', '>', now)]),
        and([
          eb('gate_requests.state', '=', 'approved'),
          eb('gate_requests.approval_expires_at', '>', now),
        ]),
      ]),
    )
  return countMatchingRows(open)
}
