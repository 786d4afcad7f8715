import type { Keys } from '../../keys/keys.ts'
import { mayCall } from './access.ts'
import type { Call } from './invocation.ts'
import type { CallTime } from './time.ts'

/**
 * Follows the key of a call while it runs; the answer lets go of it. When the key ends meanwhile, a
 * call that reads ends at once with the reason. One that acts is told by its signal, and what it has
 * done all the same is answered: nobody must be in doubt.
 */
export const holdKey = (
  { operation, caller: { key, tenantId } }: Call,
  time: CallTime,
  hold: Keys['hold'] | undefined,
): (() => void) => {
  if (hold === undefined || key === undefined) return () => {}
  const isRead = operation.effect === 'read'
  return hold(key, {
    tenantId,
    cut: reason => (isRead ? time.end(reason) : time.abort(reason)),
    may: key => mayCall(operation, key),
  })
}
