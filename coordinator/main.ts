import { once } from 'node:events'
import { Command, CommanderError } from 'commander'
import { loadConfig } from '../shared/config.ts'
import { endForSure } from '../shared/end-for-sure.ts'
import { exitCode, ShoalError } from '../shared/errors.ts'
import { watchHeap } from '../shared/heap-watch.ts'
import { onLauncherGone } from '../shared/lifeline.ts'
import { createLogger } from '../shared/logger.ts'
import { createStallMeter, createSystemdNotify, notifySystemd } from '../shared/notify.ts'
import { onReaderGone } from '../shared/reader-gone.ts'
import { reloadOnHangup } from '../shared/reload-on-hangup.ts'
import { lockState } from '../shared/state-lock.ts'
import { onStopSignals } from '../shared/stop-signals.ts'
import { rewordWrongValue } from '../shared/wrong-value.ts'
import { addAdminCommands } from './admin/admin.ts'
import { addBackupCommands } from './admin/backup.ts'
import { addBrokerCommands } from './admin/broker.ts'
import { localActor, type RunAlone, silentLogger } from './admin/on-store.ts'
import { addPolicyCommands } from './admin/policy.ts'
import { addStoreCommands } from './admin/store.ts'
import { serve } from './assembly/serve.ts'
import { CoordinatorConfig } from './config.ts'
import { openSecrets } from './secrets/open-secrets.ts'
import type { Secrets } from './secrets/secrets.ts'
import { openSigning } from './signing/signing.ts'
import { isOutage } from './store/faults.ts'
import { storePlaceOf } from './store/place.ts'
import { openStore, requireStore, type Store } from './store/store.ts'
import { loadServerIdentity } from './tls/server-identity.ts'

const PROGRAM = 'shoal-coordinator'
const MORE = `${PROGRAM} help lists the commands for keys, join tokens, cells, usage and the audit.`

/** Time after the last answer in which all data should be on the disk. */
const CLOSE_TIMEOUT_MS = 10_000

/** Time for a start that was told to stop, which is then closed as usual. */
const START_TIMEOUT_MS = 5000

/** Flags of the commands that the serving process has too, by the names that commander gives. */
const PLACE_FLAGS: Record<string, string> = {
  config: '--config',
  stateDir: '--state-dir',
  storeUrl: '--store-url',
}

type Environment = Record<string, string | undefined>

/**
 * `shoal-coordinator` serves; `shoal-coordinator init`, `key`, `token` … work on the store of a
 * coordinator on the same machine, running or not.
 */
export const main = async (argv: string[], env: Environment): Promise<void> => {
  onReaderGone([process.stdout, process.stderr])
  try {
    if (commandOf(argv) !== undefined) await administer(argv, env)
    else await run(argv, env)
  } catch (error) {
    if (error instanceof CommanderError)
      process.exit(error.exitCode === 0 ? 0 : exitCode('wrong_usage'))
    if (!(error instanceof ShoalError)) throw error
    process.stderr.write(`${PROGRAM}: ${error.message}\n`)
    process.exit(exitCode(error.code))
  }
}

/** The first word among the arguments that is neither a flag nor the value of one. */
const commandOf = (argv: string[]): string | undefined => {
  let at = 0
  while (argv[at]?.startsWith('--')) at += isWhole(argv[at] ?? '') ? 1 : 2
  return argv[at]
}

const isWhole = (flag: string): boolean =>
  flag.includes('=') || ['--help', '--version', '--print-config'].includes(flag)

const createCoordinatorLogger = ({ log: { level }, replica }: CoordinatorConfig) =>
  createLogger({
    level,
    name: 'coordinator',
    base: replica.name === undefined ? null : { coordinator: replica.name },
    isExplained: isOutage,
  })

const run = async (argv: string[], env: Environment): Promise<void> => {
  const read = () =>
    loadConfig({ program: PROGRAM, schema: CoordinatorConfig, argv, env, more: MORE })
  const loaded = read()
  if (loaded.action === 'print') {
    process.stdout.write(loaded.text)
    return
  }
  const { config } = loaded
  const logger = createCoordinatorLogger(config)
  const held = new AbortController()
  await lockState(config.state_dir, held.signal, { onLost: message => logger.error(message) })
  const stop = new AbortController()
  const endStart = () => endForSure(logger, START_TIMEOUT_MS)
  stop.signal.addEventListener('abort', endStart, { once: true })
  onStopSignals({ names: ['SIGTERM', 'SIGINT'], onFirst: () => stop.abort() })
  const onReload = reloadOnHangup({ read, started: config, logger })
  onReload(['log.level'], ({ log }) => {
    logger.level = log.level
  })
  const coordinator = await serve(config, logger, { onReload })
  stop.signal.removeEventListener('abort', endStart)
  onLauncherGone(env, process.stdin, () => stop.abort())
  const longestStallMs = env.WATCHDOG_USEC ? createStallMeter(stop.signal) : () => 0
  const { signal } = stop
  watchHeap({ logger, signal })
  if (env.NOTIFY_SOCKET)
    void notifySystemd({
      env,
      send: createSystemdNotify(logger),
      signal,
      longestStallMs,
      isHealthy: coordinator.healthy,
    })

  if (!signal.aborted) await once(signal, 'abort')
  const { leave_seconds, drain_seconds } = config.http
  endForSure(logger, (leave_seconds + drain_seconds) * 1000 + CLOSE_TIMEOUT_MS)
  await coordinator.close()
  held.abort()
  process.exit(0)
}

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

/** The store is found as the serving process finds it: same file, environment and flags. */
const administer = async (argv: string[], env: Environment): Promise<void> => {
  const program = new Command(PROGRAM)
    .description(
      "Run without a command to start the coordinator. The commands work on the coordinator's store, also while it runs: SQLite in the state folder, or the PostgreSQL database that the configuration or --store-url names.",
    )
    .option('--config <file>', 'configuration file')
    .option('--state-dir <folder>', 'state folder of the coordinator')
    .option(
      '--store-url <url>',
      'PostgreSQL database of the store; SQLite in the state folder without',
    )
    .showHelpAfterError(MORE)
    .configureOutput({
      outputError: (text, write) => write(`${PROGRAM}: ${formatUsageError(text)}\n`),
    })
    .exitOverride()
  const readConfig = (): CoordinatorConfig => {
    const flags = Object.entries(program.opts<Record<string, string>>())
      .filter(([name]) => name in PLACE_FLAGS)
      .flatMap(([name, value]) => [PLACE_FLAGS[name] ?? '', value])
    const loaded = loadConfig({ program: PROGRAM, schema: CoordinatorConfig, argv: flags, env })
    if (loaded.action !== 'run') throw new ShoalError('config_invalid', 'invalid configuration')
    return loaded.config
  }
  const readStoreConfig = (): CoordinatorConfig => {
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
  if (commandOf(argv) !== 'broker')
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
      runAlone,
    })
  await program.parseAsync(argv, { from: 'user' })
}
