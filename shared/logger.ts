import {
  type DestinationStream,
  type Logger,
  type LoggerOptions,
  pino,
  stdTimeFunctions,
} from 'pino'
import { hideSecrets } from './hide-secrets.ts'
import { addPriority, writesToJournal } from './journal.ts'
import { type LineLimit, LineLimiter } from './line-limiter.ts'
import { openLogOutput } from './log-output.ts'

const LIMIT: LineLimit = {
  lines: 20,
  linesOfAll: 500,
  windowMs: 10_000,
  nowMs: () => performance.now(),
}

const STANDARD_OUTPUT = 1

/** pino's number of the level. */
const WARN = 40

/** Keys that are redacted in the first three levels of a logged object. */
const SECRETS = ['credential', 'token', 'join_token', 'authorization', 'password', 'secret']
const redact = SECRETS.flatMap(key => [key, `*.${key}`, `*.*.${key}`])

interface LogOptions extends LoggerOptions {
  /**
   * True for the error of a warning that another line explains: the warning is written at debug,
   * without a stack.
   */
  isExplained?: (error: unknown) => boolean
}

/**
 * Creates a logger that writes JSON lines to standard output, with the time in ISO 8601 (UTC) and the
 * name of the level; in the journal of systemd with its priority. Each message is rate-limited, for one
 * cell or key and for all, so that a misbehaving peer cannot fill the disk; the next line written
 * has the number suppressed. Secrets are hidden wherever they stand in a line.
 */
export const createLogger = (
  { isExplained = () => false, ...options }: LogOptions,
  destination?: DestinationStream,
  limit: LineLimit = LIMIT,
): Logger => {
  const limiter = new LineLimiter(limit)
  const isJournal = destination === undefined && writesToJournal()
  const hooks: LoggerOptions['hooks'] = {
    streamWrite: line => (isJournal ? addPriority(hideSecrets(line)) : hideSecrets(line)),
    logMethod(args, method, level) {
      const [first, message] = args as [unknown, string | undefined]
      const error = errorIn(first)
      if (level >= WARN && error !== undefined && isExplained(error))
        return this.debug({ ...(first as object), err: undefined, reason: error.message }, message)
      const isText = typeof first === 'string'
      const suppressed = limiter.allow((isText ? first : message) ?? '', subjectOf(first))
      if (suppressed === undefined) return
      if (suppressed === 0) return method.apply(this, args)
      const facts = isText ? { suppressed } : { ...(first as object), suppressed }
      method.apply(this, [facts, isText ? first : message] as unknown as typeof args)
    },
  }
  const formatters = { level: (level: string) => ({ level }) }
  const timestamp = stdTimeFunctions.isoTime
  const output = destination ?? openLogOutput(STANDARD_OUTPUT)
  return pino({ base: null, redact, formatters, timestamp, ...options, hooks }, output)
}

const errorIn = (logged: unknown): Error | undefined => {
  const { err } = (logged ?? {}) as { err?: unknown }
  return err instanceof Error ? err : undefined
}

/** The cell or key that a line is about. */
const subjectOf = (logged: unknown): string => {
  const { cell, key } = (logged ?? {}) as { cell?: unknown; key?: unknown }
  return String(cell ?? key ?? '')
}
