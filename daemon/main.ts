import { join } from 'node:path'
import type { Logger } from 'pino'
import { type LoadedConfig, loadConfig } from '../shared/config.ts'
import { endForSure } from '../shared/end-for-sure.ts'
import { exitCode, ShoalError } from '../shared/errors.ts'
import { onLauncherGone } from '../shared/lifeline.ts'
import { openLinePrompt } from '../shared/line-prompt.ts'
import { createLogger } from '../shared/logger.ts'
import { onReaderGone } from '../shared/reader-gone.ts'
import { reloadOnHangup } from '../shared/reload-on-hangup.ts'
import { onStopSignals } from '../shared/stop-signals.ts'
import { VERSION } from '../shared/version.ts'
import { type CliCommand, COMMANDS_HELP, commandHelp, commands } from './cli/commands.ts'
import { DaemonConfig } from './config.ts'
import { daemon } from './daemon.ts'
import { readRegisteredModels, readStartingConfig } from './desired/desired-file.ts'
import { settingsOf } from './desired/settings.ts'
import { inferenceService } from './services/inference.ts'

/** Time that the daemon has to stop by itself after a signal; then the process is ended. */
const STOP_TIMEOUT_MS = 9000

/** Slots and threads are measured again at this start. */
const RETUNE = '--retune'
const RETUNE_HELP = `shoald ${RETUNE} …: measures again how many slots and threads serve best`

/** The program `shoald`: reads its configuration, runs until a signal, and sets the exit code. */
export const main = async (
  argv: string[],
  env: Record<string, string | undefined>,
): Promise<void> => {
  onReaderGone([process.stdout, process.stderr])
  try {
    const [word = '--', ...rest] = argv
    const command = commands.get(word)
    if (command !== undefined) {
      process.exitCode = await runCommand(command, rest, env)
      return
    }
    if (!word.startsWith('-') && word !== 'help') throw createUnknownCommandError(word)
    const flags = argv.filter(flag => flag !== RETUNE)
    const own = word === 'help' ? ['--help'] : flags
    const texts = { commands: COMMANDS_HELP, more: RETUNE_HELP }
    const read = () =>
      loadConfig({ program: 'shoald', schema: DaemonConfig, argv: own, env, ...texts })
    const loaded = read()
    if (loaded.action === 'print') process.stdout.write(loaded.text)
    else await run(loaded.config, env, read, flags.length < argv.length)
  } catch (error) {
    if (!(error instanceof ShoalError)) throw error
    process.stderr.write(`shoald: ${error.message}\n`)
    process.exitCode = exitCode(error.code)
  }
}

const createUnknownCommandError = (word: string): ShoalError => {
  const names = [...commands.keys()].join(', ')
  return new ShoalError(
    'wrong_usage',
    `there is no command ${JSON.stringify(word)}: there are ${names}; see shoald --help`,
  )
}

/** Asks on the terminal; everything but `y` and `yes` is a no, also Ctrl-C and Ctrl-D. */
const confirm = async (question: string): Promise<boolean> => {
  const { ask, close } = openLinePrompt()
  try {
    return /^y(es)?$/i.test((await ask(question))?.trim() ?? '')
  } finally {
    close()
  }
}

/** Commands speak on standard output; the log stays silent. */
const runCommand = async (
  command: CliCommand,
  argv: string[],
  env: Record<string, string | undefined>,
): Promise<number> => {
  if (argv.includes('--help') || argv.includes('-h')) {
    process.stdout.write(commandHelp(command.help))
    return 0
  }
  const logger = createLogger({ level: 'silent' })
  const stop = stopOnSignals(logger)
  const write = (text: string) => void process.stdout.write(text)
  try {
    const context = { argv, env, write, logger, signal: stop.signal }
    return await command.run(process.stdin.isTTY ? { ...context, confirm } : context)
  } finally {
    stop.abort()
  }
}

const run = async (
  own: DaemonConfig,
  env: Record<string, string | undefined>,
  read: () => LoadedConfig<DaemonConfig>,
  retune: boolean,
): Promise<void> => {
  const config = await readStartingConfig(own)
  const logger = createLogger({ level: config.log.level })
  const { catalogue } = config
  const { leave, stop } = leaveOnSignals(logger)
  onLauncherGone(env, process.stdin, () => stop.abort())
  const told = AbortSignal.any([leave.signal, stop.signal])
  const longestMs = config.drain_seconds * 1000 + STOP_TIMEOUT_MS
  told.addEventListener('abort', () => endForSure(logger, longestMs), { once: true })
  const stateDir = config.state_dir
  const tuning = { file: join(stateDir, 'tuning.json'), again: retune }
  const registered = await readRegisteredModels(stateDir)
  const parts = { catalogue, registered, config: config.inference, stateDir, logger, tuning }
  const inference = inferenceService(parts)
  logger.info({ version: VERSION, name: config.name }, 'shoald starts')
  try {
    const local = settingsOf(own)
    const onReload = reloadOnHangup({ read, started: own, logger })
    const signals = { leave: leave.signal, signal: stop.signal }
    await daemon({ config, local, onReload, env, inference, logger, ...signals })
  } catch (error) {
    if (!leave.signal.aborted && !stop.signal.aborted) throw error
  } finally {
    stop.abort()
    // shutdown is complete; handles still open belong to libraries
    endForSure(logger, STOP_TIMEOUT_MS, 0)
  }
}

const stopOnSignals = (logger: Logger): AbortController => {
  const stop = new AbortController()
  onStopSignals({
    names: ['SIGTERM', 'SIGINT'],
    onFirst: signal => {
      logger.info({ signal }, 'shoald stops')
      stop.abort()
    },
  })
  return stop
}

/** The first signal lets running answers end; the second does not wait for them. */
const leaveOnSignals = (logger: Logger): { leave: AbortController; stop: AbortController } => {
  const leave = new AbortController()
  const stop = new AbortController()
  onStopSignals({
    names: ['SIGTERM', 'SIGINT'],
    onFirst: signal => {
      logger.info({ signal }, 'shoald stops')
      leave.abort()
    },
    onRepeat: signal => {
      logger.info({ signal }, 'shoald stops now')
      stop.abort()
    },
  })
  return { leave, stop }
}
