import type { Logger } from 'pino'
import type { Sessions } from './sessions.ts'

const EVERY_MS = 15_000

/** Notes again and again which sessions have expired, until the answer is called. */
export const sweepSessions = (
  { sweep }: Pick<Sessions, 'sweep'>,
  logger: Pick<Logger, 'warn'>,
): (() => void) => {
  const timer = setInterval(() => {
    sweep().catch(error => logger.warn({ err: error }, 'sessions were not looked through'))
  }, EVERY_MS)
  return () => clearInterval(timer)
}
