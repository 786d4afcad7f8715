import { type Logger, pino } from 'pino'
import { loadConfig } from '../shared/config.ts'
import { exitCode, ShoalError } from '../shared/errors.ts'
import { VERSION } from '../shared/version.ts'
import { DaemonConfig } from './config.ts'
import { daemon } from './daemon.ts'
import { inferenceService } from './services/inference.ts'

/** A daemon that has not ended by itself so long after it was told to is ended. */
const STOP_TIMEOUT_MS = 9000

/** The program `shoald`: reads its configuration, runs until a signal, and sets the exit code. */
export const main = async (
  argv: string[],
  env: Record<string, string | undefined>,
): Promise<void> => {
  try {
    const loaded = loadConfig({ program: 'shoald', schema: DaemonConfig, argv, env })
    if (loaded.action === 'print') process.stdout.write(loaded.text)
    else await run(loaded.config, env)
  } catch (error) {
    if (!(error instanceof ShoalError)) throw error
    process.stderr.write(`shoald: ${error.message}\n`)
    process.exitCode = exitCode(error.code)
  }
}

const run = async (
  config: DaemonConfig,
  env: Record<string, string | undefined>,
): Promise<void> => {
  const logger = createLogger(config.log.level)
  const { catalogue } = config
  const stop = stopOnSignals(logger)
  const inference = inferenceService({ catalogue, config: config.inference, logger })
  logger.info({ version: VERSION, name: config.name }, 'shoald starts')
  try {
    await daemon({ config, env, inference, logger, signal: stop.signal })
  } catch (error) {
    if (!stop.signal.aborted) throw error
  } finally {
    stop.abort()
    endForSure(logger)
  }
}

const SECRET_KEYS = ['credential', 'token', 'join_token', 'authorization', 'password']

const createLogger = (level: string): Logger =>
  pino({
    level,
    base: null,
    redact: SECRET_KEYS.flatMap(key => [key, `*.${key}`, `*.*.${key}`]),
  })

const stopOnSignals = (logger: Logger): AbortController => {
  const stop = new AbortController()
  for (const name of ['SIGTERM', 'SIGINT'] as const)
    process.once(name, () => {
      logger.info({ signal: name }, 'shoald stops')
      stop.abort()
    })
  return stop
}

/** Ends the process if something is still open after a while; it does not keep it from ending. */
const endForSure = (logger: Logger): void => {
  setTimeout(() => {
    logger.warn({ open: process.getActiveResourcesInfo() }, 'ended with open resources')
    process.exit()
  }, STOP_TIMEOUT_MS).unref()
}
