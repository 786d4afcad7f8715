import type { Base } from '../../kernel/base/base.ts'
import type { Store } from '../../kernel/store/store.ts'
import { CallHours } from './call-hours.ts'

export interface CallHourViews {
  callHours: Pick<CallHours, 'read'>
}

interface CallHourParts extends Pick<Base, 'stack' | 'schedules' | 'now'> {
  store: Pick<Store, 'records'>
  views: { calls: { onCall(listener: CallHours['count']): () => void } }
}

const WRITE_SECONDS = 10

/** Keeps the calls of operations by hour and tenant in the store. */
export const openCallHours = (parts: CallHourParts): { views: CallHourViews } => {
  const { store, views, stack, schedules, now } = parts
  const callHours = new CallHours(store.records, now)
  stack.defer(() => callHours.flush())
  stack.defer(views.calls.onCall(callHours.count))
  schedules.every('calls.write', WRITE_SECONDS, () => callHours.flush())
  return { views: { callHours } }
}
