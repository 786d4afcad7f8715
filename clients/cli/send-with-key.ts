import { type ErrorCode, ShoalError } from '../../shared/errors.ts'
import type { ApiCall } from './api.ts'
import { showWhile } from './progress.ts'
import type { OpenSession } from './session.ts'

/** Time after which the idempotency key of a call is printed, as its answer may be lost. */
const KEY_AFTER_MS = 2000

/** Exit code that a shell reports for a process ended by SIGINT. */
const INTERRUPTED = 130

/** Errors after which nobody knows whether the call was carried out. */
const UNKNOWN_OUTCOMES: readonly ErrorCode[] = [
  'coordinator_unavailable',
  'request_timeout',
  'client_closed',
  'internal',
  'store_unavailable',
]

/**
 * Sends a call. Its idempotency key is printed when the answer takes long, is lost or is interrupted:
 * only then it is needed to repeat the call safely.
 */
export const sendWithKey = async (
  { format, progress, settings, hint }: OpenSession,
  call: ApiCall,
  send: (call: ApiCall) => Promise<unknown>,
): Promise<unknown> => {
  const text = `waiting for ${settings.url}`
  if (call.callKey === undefined || format !== 'text') return showWhile(progress, text, send(call))
  let isShown = false
  const showKey = (): void => {
    if (isShown) return
    isShown = true
    progress.clear()
    hint(`idempotency key ${call.callKey}; --idempotency-key repeats the call safely`)
  }
  const leave = (): void => {
    showKey()
    process.exit(INTERRUPTED)
  }
  const timer = setTimeout(showKey, KEY_AFTER_MS)
  process.once('SIGINT', leave)
  try {
    return await showWhile(progress, text, send(call))
  } catch (error) {
    if (!(error instanceof ShoalError) || UNKNOWN_OUTCOMES.includes(error.code)) showKey()
    throw error
  } finally {
    clearTimeout(timer)
    process.off('SIGINT', leave)
  }
}
