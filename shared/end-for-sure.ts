import type { Logger } from 'pino'
import { exitCode } from './errors.ts'

/**
 * Forces the process to exit after `afterMs` and logs the resources that were still open. The timer
 * does not keep the process alive. `code` applies when the program has set no exit code.
 */
export const endForSure = (
  logger: Pick<Logger, 'warn'>,
  afterMs: number,
  code = exitCode('internal'),
): void => {
  setTimeout(() => {
    logger.warn(
      { open: process.getActiveResourcesInfo() },
      'process did not exit in time; forcing exit',
    )
    process.exit(process.exitCode ?? code)
  }, afterMs).unref()
}
