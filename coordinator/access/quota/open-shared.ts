import type { Base } from '../../kernel/base/base.ts'
import type { OpenMinute } from '../../kernel/base/minute.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { Store } from '../../kernel/store/store.ts'
import { createRecalls, deleteOldRecalls, type LeaseRecalls } from './recalls.ts'
import { SharedMinutes } from './slots/shared-minutes.ts'
import { createSlotExchange, deleteOldSlots } from './slots/slot-rows.ts'

interface SharedLimitParts
  extends Pick<Base, 'stack' | 'schedules' | 'runtime'>,
    Pick<OpenLeader, 'leaderWork'> {
  minuteTicks: () => number
  store: Pick<Store, 'ledger'>
  replicas: Pick<Replicas, 'id' | 'live'>
}

/** Parts with which the coordinators on a shared store keep one limit together. */
interface SharedLimits {
  openMinute: OpenMinute
  countReplicas: () => number
  recalls: LeaseRecalls
}

const TEND_SECONDS = 0.25
const TIDY_SECONDS = 60
const RECALL_TIDY_SECONDS = 5

export const openSharedLimits = (parts: SharedLimitParts): SharedLimits => {
  const { store, replicas, schedules, leaderWork, stack, minuteTicks, runtime } = parts
  const { ledger } = store
  const countReplicas = () => Math.max(1, replicas.live().length)
  const minutes = new SharedMinutes({
    exchange: createSlotExchange(ledger, replicas.id),
    ticks: minuteTicks,
    runtime,
    isAway: () => ledger.outage() !== undefined,
  })
  stack.defer(() => minutes.close())
  schedules.every('minutes.tend', TEND_SECONDS, () => minutes.tend())
  leaderWork.every('minutes.tidy', TIDY_SECONDS, deleteOldSlots)
  leaderWork.every('quota.recalls', RECALL_TIDY_SECONDS, deleteOldRecalls)
  return {
    openMinute: minutes.open,
    countReplicas,
    recalls: createRecalls({ ledger, countReplicas, runtime }),
  }
}
