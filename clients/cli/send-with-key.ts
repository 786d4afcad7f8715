import { type ErrorCode, ShoalError } from '../../shared/errors.ts'
import type { ApiCall } from './api.ts'
import { showWhile } from './progress.ts'
import type { OpenSession } from './session.ts'
import { LATE_STOP } from './unconfirmed.ts'

/** Time after which a person learns of a late answer, which may be lost. */
const LATE_AFTER_MS = 2000

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
 * Sends a call. When the answer takes long, is lost or is interrupted, a person is warned of a stop
 * that nothing confirms, and learns the idempotency key with which a call can be repeated safely.
 */
export const sendWithKey = async (
  { format, progress, settings, hint }: OpenSession,
  call: ApiCall,
  send: (call: ApiCall) => Promise<unknown>,
  isEmergency: boolean,
): Promise<unknown> => {
  const text = `waiting for ${settings.url}`
  const note = isEmergency ? LATE_STOP : describeKey(call)
  if (note === undefined || format !== 'text') return showWhile(progress, text, send(call))
  let isShown = false
  const showNote = (): void => {
    if (isShown) return
    isShown = true
    progress.clear()
    hint(note)
  }
  const leave = (): void => {
    showNote()
    process.exit(INTERRUPTED)
  }
  const timer = setTimeout(showNote, LATE_AFTER_MS)
  process.once('SIGINT', leave)
  try {
    return await showWhile(progress, text, send(call))
  } catch (error) {
    if (!(error instanceof ShoalError) || UNKNOWN_OUTCOMES.includes(error.code)) showNote()
    throw error
  } finally {
    clearTimeout(timer)
    process.off('SIGINT', leave)
  }
}

const describeKey = ({ callKey }: ApiCall): string | undefined =>
  callKey === undefined
    ? undefined
    : `idempotency key ${callKey}; --idempotency-key repeats the call safely`
