import { ShoalError } from '../../../shared/errors.ts'
import type { Actor } from '../../kernel/audit/audit.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { StoredPolicy } from './policy.table.ts'
import type { Policy } from './policy.ts'
import { newestFacts, putPolicy } from './policy-store.ts'

/**
 * Replaces the policy in the ledger by the configured one, without a gate. Intended for the
 * operator of the machine, when the policy in the ledger cannot be used or no approver for another
 * one is left. A row records the actor and the reason. Throws `conflict` when the configured policy
 * is already in force.
 */
export const acceptPolicy = async (
  ledger: Ledger,
  { version, hash, document }: Policy,
  reason: string,
  by: Actor,
  addEvents: Events['addWithin'],
): Promise<StoredPolicy> => {
  if (reason.trim() === '' || reason.length > 300)
    throw new ShoalError('invalid_request', 'reason must have 1 to 300 characters', {
      param: 'reason',
    })
  return ledger.sealed.write(async trx => {
    const newest = await newestFacts(trx)
    if (newest === undefined || newest.hash === hash)
      throw new ShoalError('conflict', `the configured policy (${version}) is already in force`)
    const wanted = {
      version,
      hash,
      document,
      reason,
      configuredHash: hash,
      replaces: newest,
      changedBy: by.actor,
      changedAt: await ledger.nowMs(trx),
    }
    return putPolicy(trx, wanted, by, addEvents)
  })
}
