import { ShoalError } from '../../../shared/errors.ts'
import type { SigningKey } from '../signing/signing.ts'
import { restartSequence } from '../store/sequences.ts'
import type { Ledger } from '../store/store.ts'
import { clearTrouble } from '../store/trouble.ts'
import { type Actor, appendAudit, newestRow } from './audit.ts'
import { readCheckpoint } from './checkpoint.ts'
import { verifyChain } from './verify.ts'

interface AuditAcceptance {
  rows: number
  /** Hash of the newest row that was accepted. */
  head: string
  /** The key from now on: heads that were signed with the one before count for nothing. */
  signing_key: string
}

/**
 * Accepts the audit as it is after somebody has put an older copy back: a row says who and why, and
 * a new signing key makes void all heads that were seen of what is gone. Cells follow the new key,
 * because the old one vouches for it. The mark that stops all writing is taken away. Throws
 * `audit_broken` for a chain that is not whole by itself.
 *
 * With `lostKey` the checkpoint of a purge may be signed by that key, of which nothing is left but
 * its name: the row says so, and its checkpoints count from now on, its heads do not. Throws
 * `conflict` when the key at hand has signed it, and `invalid_request` when neither has.
 */
export const acceptAudit = async (
  ledger: Ledger,
  signing: Pick<SigningKey, 'publicKey' | 'rotate' | 'endorses'>,
  reason: string,
  by: Actor,
  lostKey?: string,
): Promise<AuditAcceptance> => {
  if (reason.trim() === '' || reason.length > 500)
    throw new ShoalError('invalid_request', 'reason must have 1 to 500 characters', {
      param: 'reason',
    })
  if (lostKey !== undefined) await requireLost(ledger, signing, lostKey)
  const endorses = (key: string): boolean => key === lostKey || signing.endorses(key)
  const verdict = await verifyChain(ledger, { endorses })
  if (!verdict.ok) throw new ShoalError('audit_broken', `${verdict.reason}; restore an intact copy`)
  const { rows, head } = verdict
  const lost = lostKey === undefined ? {} : { lost_key: lostKey }
  const accepted = { reason, rows, head: head.hash, ...lost }
  const entry = { ...by, action: 'audit.accept', subject: 'audit', outcome: 'done' } as const
  const { signing_key } = await signing.rotate({
    voidsHeads: true,
    evenFrozen: true,
    ...(lostKey === undefined ? {} : { adopts: lostKey }),
    recordStep: async ({ previous, ...step }, trx) => {
      await clearTrouble(trx)
      // what was cut is gone for good: the chain goes on from its newest row
      await restartSequence(trx, 'audit', (await newestRow(trx))?.seq ?? 0)
      const details = { ...accepted, void_key: previous, ...step }
      await appendAudit(trx, { ...entry, at: await ledger.nowMs(trx), details })
    },
  })
  return { rows, head: head.hash, signing_key }
}

const requireLost = async (
  { read }: Ledger,
  { endorses }: Pick<SigningKey, 'endorses'>,
  lostKey: string,
): Promise<void> => {
  const purged = await readCheckpoint(read)
  if (purged === undefined || endorses(purged.key_id))
    throw new ShoalError('conflict', 'no key is lost that the audit needs')
  if (purged.key_id !== lostKey)
    throw new ShoalError('invalid_request', 'the purge was signed by another key than this', {
      param: 'lost_key',
    })
}
