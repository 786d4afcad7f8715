import type { Command } from 'commander'
import { ShoalError } from '../../shared/errors.ts'
import { acceptUsage, verifyUsage } from '../quota/accept-usage.ts'
import type { OnStore } from './on-store.ts'

export const addUsageCommands = (usage: Command, onStore: OnStore): void => {
  usage
    .command('verify')
    .description(
      'compare the usage of every hour with what was recorded; fails when some is missing',
    )
    .action(() =>
      onStore(async store => {
        const losses = await verifyUsage(store)
        const [newest] = losses
        if (newest === undefined) return { ok: true }
        const { hourAt, expected, found } = newest
        const hour = new Date(hourAt).toISOString()
        throw new ShoalError(
          'conflict',
          `usage is missing or was changed in ${losses.length} hours; the newest is ${hour}, with ${found.requests} of ${expected.requests} requests and ${found.tokens} of ${expected.tokens} tokens`,
        )
      }),
    )
  usage
    .command('accept')
    .description('accept that usage is missing or was changed; coordinators follow within a second')
    .requiredOption('--reason <text>', 'why it is missing; kept in the audit')
    .action(({ reason }: { reason: string }) =>
      onStore(async (store, by) => ({ ...(await acceptUsage(store, reason, by)) })),
    )
}
