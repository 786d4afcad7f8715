import type { Command } from 'commander'
import { formatOutput } from '../../../shared/print.ts'
import { systemRuntime } from '../../../shared/runtime.ts'
import { acceptPolicy } from '../../access/gates/accept-policy.ts'
import { readConfiguredPolicy } from '../../access/gates/policies.ts'
import type { Actor } from '../../kernel/audit/audit.ts'
import { insertEvents, newEventOf } from '../../kernel/events/event-rows.ts'
import { sourceOf } from '../../kernel/events/open.ts'
import { storePlaceOf } from '../../kernel/store/place.ts'
import { openStore } from '../../kernel/store/store.ts'
import type { AdminConfig } from './admin-config.ts'

/** Commands about the policy. They need the configuration, which names the file. */
export const addPolicyCommands = (
  program: Command,
  config: () => AdminConfig,
  actor: () => Actor,
  write: (text: string) => void = text => void process.stdout.write(text),
): void => {
  program
    .command('policy')
    .description('manage the human-approval policy')
    .command('accept')
    .description('replace the approved policy with the configured one, without a gate')
    .requiredOption('--reason <text>', 'why the change could not be approved; kept in the audit')
    .action(async ({ reason }: { reason: string }) => {
      const settings = config()
      const configured = readConfiguredPolicy(settings.policy_file, settings.gates)
      const store = await openStore(storePlaceOf(settings), { mustExist: true })
      try {
        const { number, version, hash } = await acceptPolicy(
          store.ledger,
          configured,
          reason,
          actor(),
          async (trx, drafts) => {
            const source = sourceOf(settings)
            const rows = drafts.map(draft => newEventOf(draft, source, systemRuntime.now()))
            await insertEvents(trx, rows)
          },
        )
        write(formatOutput({ number, version, hash }, 'text'))
      } finally {
        await store.close()
      }
    })
}
