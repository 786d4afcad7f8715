import type { Logger } from 'pino'
import { exitCode } from './errors.ts'

/**
 * Ends the process if it has not ended by itself in that time, and says what was still open. It
 * keeps no process from ending before. `code` counts where the program has set none.
 */
export const endForSure = (
  logger: Pick<Logger, 'warn'>,
  afterMs: number,
  code = exitCode('internal'),
): void => {
  setTimeout(() => {
    logger.warn({ open: process.getActiveResourcesInfo() }, 'ended with open resources')
    process.exit(process.exitCode ?? code)
  }, afterMs).unref()
}
