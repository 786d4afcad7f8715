import type { Readable } from 'node:stream'

/**
 * Environment variable of a launcher whose children must not outlive it: their standard input is a
 * pipe from it.
 */
export const LIFELINE = 'SHOAL_STDIN_LIFELINE'

/**
 * Calls `stop` when the launcher has ended, for whatever reason. Does not keep the process alive.
 */
export const onLauncherGone = (
  env: Record<string, string | undefined>,
  stdin: Readable & { unref?: () => void },
  stop: () => void,
): void => {
  if (env[LIFELINE] !== '1') return
  stdin.once('close', stop).on('error', () => {})
  stdin.resume()
  stdin.unref?.()
}
