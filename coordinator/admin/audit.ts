import type { Command } from 'commander'
import { ShoalError } from '../../shared/errors.ts'
import { acceptAudit } from '../audit/accept.ts'
import { readCheckpoint } from '../audit/checkpoint.ts'
import { checkAgainstMark, verifyAudit } from '../audit/verify.ts'
import type { SigningKey } from '../signing/signing.ts'
import type { Ledger } from '../store/store.ts'
import type { OnStore } from './on-store.ts'
import { purgedView } from './views.ts'

/** The signing key of the coordinator whose store it is. */
export type OpenSigningKey = () => Promise<Pick<SigningKey, 'publicKey' | 'rotate' | 'endorses'>>

/** Runs work while no coordinator uses the state folder; throws `conflict` when one does. */
export type RunAlone = <T>(run: () => Promise<T>) => Promise<T>

/** Verifies every link and the mark of the audit. Throws `audit_broken` with the reason. */
export const requireIntactAudit = async (ledger: Ledger, sign: OpenSigningKey) => {
  // only a purge needs the key to check it: the key of a copy may be elsewhere
  const purged = await readCheckpoint(ledger.read)
  const endorses = purged && (await sign()).endorses
  const verdict = await checkAgainstMark(ledger, await verifyAudit(ledger, { endorses }))
  if (verdict.ok) return verdict
  throw new ShoalError('audit_broken', `the audit chain is broken: ${verdict.reason}`)
}

export const addAuditCommands = (
  audit: Command,
  onStore: OnStore,
  sign: OpenSigningKey,
  runAlone: RunAlone,
): void => {
  audit
    .command('verify')
    .description('verify every link of the chain; fails when one is broken')
    .action(() =>
      onStore(async store => {
        const { rows, head, purged } = await requireIntactAudit(store.ledger, sign)
        return { ok: true, rows, head: head.hash, ...(purged && purgedView(purged)) }
      }),
    )
  audit
    .command('accept')
    .description('accept the audit as it is after a restore; the coordinator must be stopped')
    .requiredOption('--reason <text>', 'why known rows are missing; kept in the audit')
    .option('--lost-key <key>', 'public key of the lost signing.json, as pinned by the cells')
    .action(({ reason, lostKey }: { reason: string; lostKey?: string }) =>
      // a running coordinator would stay frozen and go on signing with the void key
      runAlone(() =>
        onStore(async ({ ledger }, by) => ({
          ...(await acceptAudit(ledger, await sign(), reason, by, lostKey)),
        })),
      ),
    )
}
