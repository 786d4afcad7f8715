import { Command, CommanderError } from 'commander'
import type * as z from 'zod'
import { formatCommandsFirst } from '../../../shared/commands-first.ts'
import { loadConfig } from '../../../shared/config.ts'
import { exitCode, ShoalError } from '../../../shared/errors.ts'
import { lockState } from '../../../shared/state-lock.ts'
import { rewordWrongValue } from '../../../shared/wrong-value.ts'
import { openSecrets } from '../../kernel/secrets/open-secrets.ts'
import type { Secrets } from '../../kernel/secrets/secrets.ts'
import { openSigning } from '../../kernel/signing/signing.ts'
import { storePlaceOf } from '../../kernel/store/place.ts'
import { openStore, requireStore, type Store } from '../../kernel/store/store.ts'
import { loadServerIdentity } from '../../kernel/tls/server-identity.ts'
import { publicUrls } from '../http/public-urls.ts'
import { addAdminCommands } from './admin.ts'
import type { AdminConfig } from './admin-config.ts'
import { addBackupCommands } from './backup.ts'
import { addBrokerCommands } from './broker.ts'
import { localActor, type RunAlone, silentLogger } from './on-store.ts'
import { addPolicyCommands } from './policy.ts'
import { addStoreCommands } from './store.ts'

/** Flags of the commands that the serving process has too, by the names that commander gives. */
const PLACE_FLAGS: Record<string, string> = {
  config: '--config',
  stateDir: '--state-dir',
  storeUrl: '--store-url',
}

type Environment = Record<string, string | undefined>

/** `error: option '--tier <tier>' …`, with a line end. */
const formatUsageError = (text: string): string =>
  rewordWrongValue(text.trimEnd().replace(/^error: /, ''))

/** Runs work while no other process uses the state folder; throws `conflict` when one does. */
const runLocked = async <T>(stateDir: string, run: () => Promise<T>): Promise<T> => {
  const held = new AbortController()
  await lockState(stateDir, held.signal)
  try {
    return await run()
  } finally {
    held.abort()
  }
}

interface AdminCall {
  /** Configuration of the serving process. */
  schema: z.ZodObject & z.ZodType<AdminConfig>
  /** Name of this program. */
  program: string
  /** Line after a wrong usage. */
  more: string
  /** The command among the arguments. */
  command: string
}

export const administer = async (
  call: AdminCall,
  argv: string[],
  env: Environment,
): Promise<void> => {
  const program = createAdminProgram(call, env)
  await program.parseAsync(argv, { from: 'user' }).catch(error => {
    if (!(error instanceof CommanderError)) throw error
    process.exit(error.exitCode === 0 ? 0 : exitCode('wrong_usage'))
  })
}

/** The store is found as the serving process finds it: same file, environment and flags. */
export const createAdminProgram = (
  { schema, program: name, more, command }: AdminCall,
  env: Environment,
): Command => {
  const program = new Command(name)
    .description(
      "Run without a command to start the coordinator. The commands work on the coordinator's store, also while it runs: SQLite in the state folder, or the PostgreSQL database that the configuration or --store-url names.",
    )
    .option('--config <file>', 'configuration file')
    .option('--state-dir <folder>', 'state folder of the coordinator')
    .option(
      '--store-url <url>',
      'PostgreSQL database of the store; SQLite in the state folder without',
    )
    .showHelpAfterError(more)
    .configureHelp({ formatHelp: formatCommandsFirst })
    .configureOutput({
      outputError: (text, write) => write(`${name}: ${formatUsageError(text)}\n`),
    })
    .exitOverride()
  const readConfig = (): AdminConfig => {
    const flags = Object.entries(program.opts<Record<string, string>>())
      .filter(([name]) => name in PLACE_FLAGS)
      .flatMap(([name, value]) => [PLACE_FLAGS[name] ?? '', value])
    const loaded = loadConfig({ program: name, schema, argv: flags, env })
    if (loaded.action !== 'run') throw new ShoalError('config_invalid', 'invalid configuration')
    return loaded.config
  }
  const readStoreConfig = (): AdminConfig => {
    const config = readConfig()
    requireStore(storePlaceOf(config))
    return config
  }
  const stateDir = () => readConfig().state_dir
  const openShared = (store: Store) =>
    openSecrets({ store, stateDir: stateDir(), logger: silentLogger })
  const runAlone: RunAlone = run => runLocked(stateDir(), run)
  addBrokerCommands(program, readStoreConfig, openShared)
  addPolicyCommands(program, readStoreConfig, localActor)
  addBackupCommands(program, { config: readConfig, env, runAlone })
  addStoreCommands(program, readConfig, {
    sign: async store => openSigning((await openShared(store)).secrets),
    runAlone,
  })
  // there `--format` says how to print, for every command; of `broker files` it is the broker's
  if (command !== 'broker')
    addAdminCommands(program, {
      open: async ({ make }) =>
        openStore(storePlaceOf(make ? readConfig() : readStoreConfig()), { mustExist: !make }),
      stateDir,
      openSecrets: openShared,
      identify: store => {
        // on loopback nobody asks for a secret, and none is opened
        const ensure: Secrets['ensure'] = async (...wanted) =>
          (await openShared(store)).secrets.ensure(...wanted)
        return loadServerIdentity(readConfig(), { ensure })
      },
      joinUrl: () => {
        const config = readConfig()
        return publicUrls(config, config.http.port).base
      },
      runAlone,
    })
  return program
}
