import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino'
import { logOutput } from './log-output.ts'

export interface LogLimit {
  /** Lines with one message that are written in a window; more are counted. */
  lines: number
  windowMs: number
  /** Milliseconds of a clock that never goes back. */
  nowMs: () => number
}

const LIMIT: LogLimit = { lines: 20, windowMs: 10_000, nowMs: () => performance.now() }

const STANDARD_OUTPUT = 1

/** pino's number of the level. */
const WARN = 40

/** Messages that are told apart; an attacker cannot make new ones, they are ours. */
const MAX_MESSAGES = 1000

/** Never written, wherever it stands in the first three levels of what is logged. */
const SECRETS = ['credential', 'token', 'join_token', 'authorization', 'password', 'secret']
const redact = SECRETS.flatMap(key => [key, `*.${key}`, `*.*.${key}`])

/**
 * JSON lines on standard output. Of one warning or error only so many are written in a while, so
 * that a peer that misbehaves cannot fill the disk; the next one that is written says how many were
 * not. What happens in order (info and below) is written in full.
 */
export const createLogger = (
  options: LoggerOptions,
  destination: DestinationStream = logOutput(STANDARD_OUTPUT),
  limit: LogLimit = LIMIT,
): Logger => {
  const allow = createLimiter(limit)
  const hooks: LoggerOptions['hooks'] = {
    logMethod(args, method, level) {
      if (level < WARN) return method.apply(this, args)
      const [first, message] = args as [unknown, unknown]
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

/** How many lines were left out since the last one, or undefined when this one is left out too. */
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
