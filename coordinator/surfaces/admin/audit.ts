import type { Command } from 'commander'
import { ShoalError } from '../../../shared/errors.ts'
import { acceptAudit } from '../../kernel/audit/accept.ts'
import { readCheckpoint } from '../../kernel/audit/checkpoint.ts'
import { checkAgainstMark, verifyAudit } from '../../kernel/audit/verify.ts'
import type { SigningKey } from '../../kernel/signing/signing.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { OnStore } from './on-store.ts'
import { toPurgedView } from './views.ts'

/** Opens the signing key in a store. */
export type OpenSigningKey = (
  store: Store,
) => Promise<Pick<SigningKey, 'publicKey' | 'rotate' | 'endorses'>>

/** Verifies every link and the mark of the audit. Throws `audit_broken` with the reason. */
export const requireIntactAudit = async (store: Store, sign: OpenSigningKey) => {
  const { ledger } = store
  // only a purge needs the key to check it: the key of a copy may be elsewhere
  const purged = await readCheckpoint(ledger.read)
  const endorses = purged && (await sign(store)).endorses
  const verdict = await checkAgainstMark(ledger, await verifyAudit(ledger, { endorses }))
  if (verdict.ok) return verdict
  throw new ShoalError('audit_broken', `the audit chain is broken: ${verdict.reason}`)
}

export const addAuditCommands = (audit: Command, onStore: OnStore, sign: OpenSigningKey): void => {
  audit
    .command('verify')
    .description('verify every link of the chain; fails when one is broken')
    .action(() =>
      onStore(async store => {
        const { rows, head, purged } = await requireIntactAudit(store, sign)
        return { ok: true, rows, head: head.hash, ...(purged && toPurgedView(purged)) }
      }),
    )
  audit
    .command('accept')
    .description('accept the audit as it is after a restore; coordinators resume within a second')
    .requiredOption('--reason <text>', 'why known rows are missing; kept in the audit')
    .option('--lost-key <key>', 'public half of the lost signing key, as pinned by the cells')
    .action(({ reason, lostKey }: { reason: string; lostKey?: string }) =>
      onStore(async (store, by) => ({
        ...(await acceptAudit(store.ledger, await sign(store), reason, by, lostKey)),
      })),
    )
}
