import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino'
import { openLogOutput } from './log-output.ts'

interface LogLimit {
  /** Lines with the same message that are written per window; further ones are only counted. */
  lines: number
  windowMs: number
  /** Monotonic clock, in milliseconds. */
  nowMs: () => number
}

const LIMIT: LogLimit = { lines: 20, windowMs: 10_000, nowMs: () => performance.now() }

const STANDARD_OUTPUT = 1

/** pino's number of the level. */
const WARN = 40

/**
 * Distinct messages that are counted. Messages are constants of this program, so that peers cannot
 * create new ones.
 */
const MAX_MESSAGES = 1000

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
 * Creates a logger that writes JSON lines to standard output. Each warning or error message is
 * rate-limited, so that a misbehaving peer cannot fill the disk; the next line written has the
 * number suppressed. Lines at info and below are written in full.
 */
export const createLogger = (
  { isExplained = () => false, ...options }: LogOptions,
  destination: DestinationStream = openLogOutput(STANDARD_OUTPUT),
  limit: LogLimit = LIMIT,
): Logger => {
  const allow = createLimiter(limit)
  const hooks: LoggerOptions['hooks'] = {
    logMethod(args, method, level) {
      if (level < WARN) return method.apply(this, args)
      const [first, message] = args as [unknown, string | undefined]
      const error = errorIn(first)
      if (error !== undefined && isExplained(error))
        return this.debug({ ...(first as object), err: undefined, reason: error.message }, message)
      const known = typeof message === 'string' ? message : typeof first === 'string' ? first : ''
      const suppressed = allow(known)
      if (suppressed === undefined) return
      if (suppressed > 0 && typeof first === 'object')
        method.apply(this, [{ ...first, suppressed }, message] as unknown as typeof args)
      else method.apply(this, args)
    },
  }
  return pino({ base: null, redact, ...options, hooks }, destination)
}

const errorIn = (logged: unknown): Error | undefined => {
  const { err } = (logged ?? {}) as { err?: unknown }
  return err instanceof Error ? err : undefined
}

/**
 * Returns the number of lines suppressed since the last one written, or undefined when this line is
 * suppressed too.
 */
const createLimiter = ({ lines, windowMs, nowMs }: LogLimit) => {
  const seen = new Map<string, { since: number; count: number; suppressed: number }>()
  return (message: string): number | undefined => {
    const now = nowMs()
    const entry = seen.get(message) ?? { since: now, count: 0, suppressed: 0 }
    if (seen.size >= MAX_MESSAGES) seen.clear()
    seen.set(message, entry)
    if (now - entry.since >= windowMs) Object.assign(entry, { since: now, count: 0 })
    if (++entry.count > lines) {
      entry.suppressed++
      return undefined
    }
    const { suppressed } = entry
    entry.suppressed = 0
    return suppressed
  }
}
