import type { Readable } from 'node:stream'

/** Set by a launcher whose children must not outlive it: their standard input is a pipe from it. */
export const LIFELINE = 'SHOAL_STDIN_LIFELINE'

/** Calls back when the launcher is gone, however it went. Keeps no process from ending. */
export const onLauncherGone = (
  env: Record<string, string | undefined>,
  stdin: Readable & { unref?: () => void },
  gone: () => void,
): void => {
  if (env[LIFELINE] !== '1') return
  stdin.once('close', gone).on('error', () => {})
  stdin.resume()
  stdin.unref?.()
}
