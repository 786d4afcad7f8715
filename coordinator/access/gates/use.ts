import { ShoalError } from '../../../shared/errors.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import type { GateRequest } from '../../kernel/declaration/gate-request.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import { isLive } from '../keys/key.ts'
import { readShownKeys } from '../keys/shown-keys.ts'
import type { Trx } from './asking.ts'
import { auditOf } from './audit-of.ts'
import { readRequest } from './rows.ts'
import type { UseFault } from './rules.ts'

/** Current roles of the approvers' keys. */
export const rolesNow = async (
  trx: Trx,
  { votes }: GateRequest,
  now: number,
): Promise<Map<string, readonly string[]>> => {
  const ids = votes.map(({ keyId }) => keyId)
  if (ids.length === 0) return new Map()
  const keys = (await readShownKeys(trx, ids)).map(({ key }) => key)
  return new Map(keys.filter(key => isLive(key, now)).map(({ id, roles }) => [id, roles]))
}

/** Uses an approval by one conditional UPDATE; undefined for all concurrent callers but one. */
export const useUp = async (
  trx: Trx,
  found: GateRequest,
  by: Actor,
  now: number,
): Promise<GateRequest | undefined> => {
  const { numUpdatedRows } = await trx
    .updateTable('gate_requests')
    .set({ state: 'consumed', consumed_at: now })
    .where('id', '=', found.id)
    .where('state', '=', 'approved')
    .where('plan_hash', '=', found.planHash)
    .where('approval_expires_at', '>', now)
    .executeTakeFirst()
  if (numUpdatedRows !== 1n) return undefined
  await appendAudit(trx, { ...by, ...auditOf(found, { state: 'consumed' }), at: now })
  return readRequest(trx, found.id, 'all')
}

/** Audits a refused use and returns its error. */
export const auditRefusal = async (
  ledger: Ledger,
  found: GateRequest,
  { message, ...details }: UseFault,
  by: Actor,
  now: number,
): Promise<ShoalError> => {
  const entry = { ...by, ...auditOf(found, { state: 'consumed' }), outcome: 'refused' as const }
  await ledger.sealed.write(trx =>
    appendAudit(trx, { ...entry, at: now, details: { ...entry.details, why: message } }),
  )
  return new ShoalError('forbidden', message, details)
}
