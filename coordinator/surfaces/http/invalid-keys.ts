import type { Logger } from 'pino'
import { systemRuntime } from '../../../shared/runtime.ts'
import { networkOf } from './trusted-proxies.ts'

const LOG_EVERY_MS = 10_000

/**
 * Returns a function that logs requests with an invalid key by their addresses: one line in 10 s, with
 * the number since the last line. The key itself is never logged, since it may be a mistyped valid one.
 *
 * @param nowMs monotonic
 */
export const createInvalidKeyLog = (
  logger: Pick<Logger, 'warn'>,
  nowMs: () => number = systemRuntime.nowMs,
): ((ip: string) => void) => {
  let loggedAtMs = Number.NEGATIVE_INFINITY
  let refused = 0
  return ip => {
    refused++
    if (nowMs() - loggedAtMs < LOG_EVERY_MS) return
    loggedAtMs = nowMs()
    logger.warn(
      { address: networkOf(ip), refused },
      'an invalid key was refused; limits.anonymous_per_minute bounds how many one address may try',
    )
    refused = 0
  }
}
