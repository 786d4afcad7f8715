import type { Logger } from 'pino'
import type { GateKeeper } from './gates.ts'

const EVERY_MS = 5000

/** Notes again and again what has expired, until the answer is called. */
export const sweepGates = (
  { sweep }: Pick<GateKeeper, 'sweep'>,
  logger: Pick<Logger, 'warn'>,
): (() => void) => {
  const timer = setInterval(() => {
    sweep().catch(error => logger.warn({ err: error }, 'gates were not looked through'))
  }, EVERY_MS)
  return () => clearInterval(timer)
}
