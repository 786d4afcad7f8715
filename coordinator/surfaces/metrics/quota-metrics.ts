import { ShoalError } from '../../../shared/errors.ts'
import { createCounter, type Metric, Tally } from '../../../shared/metrics/metric.ts'
import type { Quota, QuotaSubject } from '../../access/quota/quota.ts'

const REASONS: Partial<Record<string, string>> = {
  tier_exceeded: 'month',
  rate_limited: 'minute',
  store_unavailable: 'store',
}

export interface QuotaMetrics {
  /** Wraps a quota and counts its refusals. */
  watch<T extends Pick<Quota, 'admit'>>(quota: T): T
  list: readonly Metric[]
}

/** Reasons for which requests were not admitted. */
export const createQuotaMetrics = (): QuotaMetrics => {
  const refusals = new Tally()
  const note = (error: unknown, { tier }: QuotaSubject): never => {
    const reason = error instanceof ShoalError ? REASONS[error.code] : undefined
    refusals.add([reason ?? 'failure', tier])
    throw error
  }
  const watch: QuotaMetrics['watch'] = quota => ({
    ...quota,
    admit: (subject: QuotaSubject, now: number) => {
      try {
        const admission = quota.admit(subject, now)
        return admission instanceof Promise
          ? admission.catch(error => note(error, subject))
          : admission
      } catch (error) {
        return note(error, subject)
      }
    },
  })
  return {
    watch,
    list: [
      createCounter(
        {
          name: 'shoal_quota_refusals_total',
          help: 'Requests that were not admitted: the month or the minute is used up, or the store failed.',
          labels: ['reason', 'tier'],
        },
        refusals,
      ),
    ],
  }
}
