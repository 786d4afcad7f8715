import type { Base } from '../base/base.ts'
import type { OpenLeader } from '../leader/open.ts'
import type { OpenQueue } from '../queue/open.ts'
import type { Store } from '../store/store.ts'
import { Schedules } from './schedules.ts'

interface RecurringParts extends Pick<Base, 'logger' | 'now'>, OpenLeader {
  store: Pick<Store, 'ledger'>
  work: Pick<OpenQueue, 'queue'>
}

const LOOK_SECONDS = 1

/** Jobs that recur, for the parts that define them. */
export const openRecurring = (parts: RecurringParts): { recurring: Schedules } => {
  const { store, work, leader, leaderWork, logger, now } = parts
  const { ledger } = store
  const recurring = new Schedules({ ledger, queue: work.queue, leader, logger, now })
  leaderWork.every('schedules.look', LOOK_SECONDS, () => recurring.look())
  return { recurring }
}
