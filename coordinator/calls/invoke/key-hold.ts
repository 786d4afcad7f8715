import type { Keys } from '../../access/keys/keys.ts'
import { mayCall } from './access.ts'
import type { Call } from './invocation.ts'
import type { CallTime } from './time.ts'

/**
 * Watches the key of a running call until it answers. When the key ends, a reading call is aborted
 * with the reason. An acting call is signalled, but its result is still returned, so that its
 * effect is never in doubt.
 */
export const holdKey = (
  { operation, caller: { key, tenantId }, listener }: Call,
  time: CallTime,
  hold: Keys['hold'] | undefined,
): (() => void) => {
  if (hold === undefined || key === undefined) return () => {}
  const isRead = operation.effect === 'read'
  return hold(key, {
    tenantId,
    cut: reason => {
      listener?.onKeyEnd?.()
      if (isRead) time.end(reason)
      else time.abort(reason)
    },
    isAllowed: key => mayCall(operation, key),
  })
}
