import { ShoalError } from '../../shared/errors.ts'
import type { Signing } from '../keys/signing.ts'
import type { Ledger } from '../store/store.ts'
import { type Actor, appendAudit, verifyAudit } from './audit.ts'

export interface Accepted {
  rows: number
  /** Hash of the newest row that was accepted. */
  head: string
  /** The key from now on: heads that were signed with the one before count for nothing. */
  signing_key: string
}

/**
 * Accepts the audit as it is after somebody has put an older copy back: a row says who and why, and
 * a new signing key makes void all heads that were seen of what is gone. Cells follow the new key,
 * because the old one vouches for it. Throws `audit_broken` for a chain that is not whole by itself.
 */
export const acceptAudit = async (
  ledger: Ledger,
  signing: Pick<Signing, 'publicKey' | 'rotate'>,
  reason: string,
  by: Actor,
): Promise<Accepted> => {
  if (reason.trim() === '' || reason.length > 500)
    throw new ShoalError('invalid_request', 'say why, in 1 to 500 characters', { param: 'reason' })
  const verdict = await verifyAudit(ledger)
  if (!verdict.ok)
    throw new ShoalError('audit_broken', `${verdict.reason}; put a copy back that is whole`)
  const { rows, head } = verdict
  const details = { reason, rows, head: head.hash, void_key: signing.publicKey }
  const entry = { ...by, action: 'audit.accept', subject: 'audit', details }
  await ledger.write(trx => appendAudit(trx, { ...entry, outcome: 'done' }))
  const { signing_key } = await signing.rotate()
  return { rows, head: head.hash, signing_key }
}
