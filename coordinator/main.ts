import { once } from 'node:events'
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
import { CoordinatorConfig } from './config.ts'
import { isOutage } from './kernel/store/faults.ts'

const PROGRAM = 'shoal-coordinator'
const MORE = `${PROGRAM} help lists the commands and their flags.`

/** Time after the last answer in which all data should be on the disk. */
const CLOSE_TIMEOUT_MS = 10_000

/** Time for a start that was told to stop, which is then closed as usual. */
const START_TIMEOUT_MS = 5000

type Environment = Record<string, string | undefined>

/**
 * `shoal-coordinator` serves; `shoal-coordinator init`, `key`, `token` … work on the store of a
 * coordinator on the same machine, running or not.
 */
export const main = async (argv: string[], env: Environment): Promise<void> => {
  onReaderGone([process.stdout, process.stderr])
  try {
    const command = commandOf(argv)
    if (command === undefined) return await run(argv, env)
    // a command needs a third of the modules of the service, and the service none of the commands
    const { administer } = await import('./surfaces/admin/administer.ts')
    await administer(
      { schema: CoordinatorConfig, program: PROGRAM, more: MORE, command },
      argv,
      env,
    )
  } catch (error) {
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
  flag.includes('=') || ['--help', '--help-config', '--version', '--print-config'].includes(flag)

/** The commands, one per line, for the help of the serving process. */
const listCommands = async (env: Environment): Promise<string> => {
  const { createAdminProgram } = await import('./surfaces/admin/administer.ts')
  const { commands } = createAdminProgram(
    { schema: CoordinatorConfig, program: PROGRAM, more: MORE, command: 'help' },
    env,
  )
  const width = Math.max(...commands.map(command => command.name().length)) + 2
  const lines = commands.map(each => `  ${each.name().padEnd(width)}${each.description()}`)
  return ['Commands, each with its own --help:', ...lines].join('\n')
}

const createCoordinatorLogger = ({ log: { level }, replica }: CoordinatorConfig) =>
  createLogger({
    level,
    name: 'coordinator',
    base: replica.name === undefined ? null : { coordinator: replica.name },
    isExplained: isOutage,
  })

const run = async (argv: string[], env: Environment): Promise<void> => {
  const commands = argv.includes('--help') || argv.includes('-h') ? await listCommands(env) : ''
  const read = () =>
    loadConfig({ program: PROGRAM, schema: CoordinatorConfig, argv, env, commands, more: MORE })
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
  const { serve } = await import('./assembly/serve.ts')
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
