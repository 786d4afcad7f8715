import { type Command, Option } from 'commander'
import { type Format, formatOutput, terminalWidth } from '../../../shared/print.ts'
import type { OpenedSecrets } from '../../kernel/secrets/open-secrets.ts'
import { openSigning } from '../../kernel/signing/signing.ts'
import type { Store } from '../../kernel/store/store.ts'
import { addAuditCommands } from './audit.ts'
import { addCellCommands, addTokenCommands } from './cells.ts'
import { addInit, type Identify } from './init.ts'
import { addKeyCommands } from './keys.ts'
import { localActor, type OnStore, type RunAlone } from './on-store.ts'
import { addPersonCommands, addTenantCommands } from './people.ts'
import { addSecretCommands } from './secrets.ts'
import { addUsageCommands } from './usage.ts'

interface AdminParts {
  /** Opens the store; one that is not there is only made when `make` is given. */
  open: (options: { make: boolean }) => Promise<Store>
  openSecrets: (store: Store) => Promise<OpenedSecrets>
  stateDir: () => string
  write?: (text: string) => void
  identify?: Identify
  /** Address at which cells join. */
  joinUrl?: () => string
  runAlone?: RunAlone
}

/**
 * Commands that work on the store itself, also while the coordinator runs: it notices within half
 * a second. Secrets are printed once and are nowhere else. Failures are ShoalErrors.
 */
export const addAdminCommands = (
  program: Command,
  {
    open,
    openSecrets,
    stateDir,
    write = text => void process.stdout.write(text),
    identify = async () => undefined,
    joinUrl = () => 'URL',
    runAlone = run => run(),
  }: AdminParts,
): void => {
  const format = new Option('--format <format>', 'output format').choices(['text', 'json'])
  program.addOption(format.default('text'))

  const onStore: OnStore = async (run, make = false) => {
    const store = await open({ make })
    try {
      const value = await run(store, localActor())
      const { format } = program.opts<{ format: Format }>()
      write(formatOutput(value, format, terminalWidth(process.stdout)))
    } finally {
      await store.close()
    }
  }

  addInit(program, onStore, identify)
  addKeyCommands(program.command('key').description('API keys'), onStore)
  addTokenCommands(program.command('token').description('manage join tokens for cells'), onStore, {
    identify,
    joinUrl,
  })
  addCellCommands(program.command('cell').description('manage enrolled cells'), onStore)
  addTenantCommands(program.command('tenant').description('tenants'), onStore)
  addPersonCommands(program.command('person').description('persons'), onStore)
  addAuditCommands(
    program.command('audit').description('manage the audit chain'),
    onStore,
    async store => openSigning((await openSecrets(store)).secrets),
  )
  addUsageCommands(program.command('usage').description('verify recorded usage'), onStore)
  addSecretCommands(
    program.command('secrets').description('manage the secrets that coordinators share'),
    { onStore, openSecrets, stateDir, runAlone },
  )
}
