import type { Command } from 'commander'
import { ShoalError } from '../../../shared/errors.ts'
import { acceptUsage, verifyUsage } from '../../access/quota/accept-usage.ts'
import { describeLosses } from '../../access/quota/usage-losses.ts'
import type { OnStore } from './on-store.ts'

const EXAMPLE = 'shoal-coordinator usage accept --reason "disk failed, backup of 3 May restored"'
const NEXT = `Put records.db of a backup back with the coordinator stopped, or accept what is there: ${EXAMPLE}`

export const addUsageCommands = (usage: Command, onStore: OnStore): void => {
  usage
    .command('verify')
    .description(
      'compare the usage of every hour with what was recorded; fails when some is missing',
    )
    .action(() =>
      onStore(async store => {
        const { losses, ...compared } = await verifyUsage(store)
        if (losses.length === 0) return { ok: true, ...compared }
        throw new ShoalError('conflict', `${describeLosses(losses)}. ${NEXT}`)
      }),
    )
  usage
    .command('accept')
    .description('accept that usage is missing or was changed; coordinators follow within a second')
    .requiredOption('--reason <text>', 'why it is missing; kept in the audit')
    .showHelpAfterError(`Example: ${EXAMPLE}`)
    .action(({ reason }: { reason: string }) =>
      onStore(async (store, by) => ({ ...(await acceptUsage(store, reason, by)) })),
    )
}
