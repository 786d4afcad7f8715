import { type Command, Option } from 'commander'
import { ShoalError } from '../../shared/errors.ts'
import { type Format, formatOutput, terminalWidth } from '../../shared/print.ts'
import type { Store } from '../store/store.ts'
import { addAuditCommands, type OpenSigningKey, type RunAlone } from './audit.ts'
import { addCellCommands, addTokenCommands } from './cells.ts'
import { addInit, type Identify } from './init.ts'
import { addKeyCommands } from './keys.ts'
import { localActor, type OnStore } from './on-store.ts'
import { addPersonCommands, addTenantCommands } from './people.ts'

/** Opens the store; one that is not there is only made when `make` is given. */
type OpenStore = (options: { make: boolean }) => Promise<Store>

/**
 * Commands that work on the store itself, also while the coordinator runs: it notices within half
 * a second. Secrets are printed once and are nowhere else. Failures are ShoalErrors.
 */
export const addAdminCommands = (
  program: Command,
  open: OpenStore,
  write: (text: string) => void = text => void process.stdout.write(text),
  identify: Identify = async () => undefined,
  sign: OpenSigningKey = withoutSigning,
  runAlone: RunAlone = run => run(),
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
  addTokenCommands(
    program.command('token').description('manage join tokens for cells'),
    onStore,
    identify,
  )
  addCellCommands(program.command('cell').description('manage enrolled cells'), onStore)
  addTenantCommands(program.command('tenant').description('tenants'), onStore)
  addPersonCommands(program.command('person').description('persons'), onStore)
  addAuditCommands(
    program.command('audit').description('manage the audit chain'),
    onStore,
    sign,
    runAlone,
  )
}

const withoutSigning: OpenSigningKey = () =>
  Promise.reject(new ShoalError('config_invalid', 'no signing key is available'))
