import { ShoalError } from '../../../shared/errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import { type CountCall, createCallLimits } from '../../access/quota/call-limits.ts'
import type { Admission, Quota } from '../../access/quota/quota.ts'
import type { TaskCaller } from '../../kernel/declaration/context.ts'
import type { Declaration } from '../../kernel/declaration/declaration.ts'

export interface CountParts {
  countCall: CountCall
  /** Counts emergency calls of a key, in memory alone, so that they need neither room nor store. */
  countEmergency?: CountCall
  quota: Pick<Quota, 'admit'>
  /** Unix time, milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'nowMs'>
}

export type Count = (
  caller: Pick<TaskCaller, 'key' | 'address'>,
  operation?: Pick<Declaration, 'isEmergency'>,
) => Admission | Promise<Admission>

/**
 * Counts one request: those of a key against its minute, those without a key against the allowance
 * of their network. Throws or rejects with `rate_limited`, `tier_exceeded` or `store_unavailable`.
 */
export const createCount =
  ({
    countCall,
    quota,
    now,
    runtime,
    countEmergency = createCallLimits({ ticks: runtime.nowMs }),
  }: CountParts): Count =>
  ({ key, address = '' }, { isEmergency } = {}) => {
    if (key === undefined)
      return quota.admit({ id: `address:${address}`, tier: 'anonymous' }, now())
    const counted = (isEmergency ? countEmergency : countCall)(key.id, key)
    return counted instanceof Promise ? counted.then(() => KEPT) : KEPT
  }

/** Admission of a key, which is never refunded, even if the call is refused. */
const KEPT: Admission = { refund: () => {} }

/** Does the work of a request that was counted, and takes the count back when it was refused. */
export const runWithRefund = async <T>(
  admission: Admission,
  work: () => Promise<T>,
): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    if (isRefusal(error)) admission.refund()
    throw error
  }
}

/** A call that took its time, or whose caller has left, was not refused. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ShoalError && error.code !== 'request_timeout' && error.code !== 'client_closed'
