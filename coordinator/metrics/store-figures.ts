import { FAST_SECONDS, Histogram } from '../../shared/metrics/histogram.ts'
import { createCounter, type Metric, Tally, toMetricValues } from '../../shared/metrics/metric.ts'
import type { ChangeHook } from '../store/change-hook.ts'
import type { StoreHooks } from '../store/store.ts'

const DATABASES = ['ledger', 'records'] as const
type DatabaseName = (typeof DATABASES)[number]

export interface StoreFigures {
  /** Times the changes of both databases. */
  hooks: Required<StoreHooks>
  metrics: readonly Metric[]
}

/** Measures how long changes take until they are committed. */
export const createStoreFigures = (nowMs: () => number = () => performance.now()): StoreFigures => {
  const seconds = new Map(DATABASES.map(name => [name, new Histogram(FAST_SECONDS)] as const))
  const failures = new Tally()

  const timing =
    <T>(name: DatabaseName): ChangeHook<T> =>
    async (work, commit) => {
      const startedMs = nowMs()
      try {
        return await commit(work)
      } catch (error) {
        failures.add([name])
        throw error
      } finally {
        seconds.get(name)?.observe((nowMs() - startedMs) / 1000)
      }
    }

  return {
    hooks: { ledger: [timing('ledger')], records: [timing('records')] },
    metrics: [
      {
        name: 'shoal_store_write_duration_seconds',
        type: 'histogram',
        help: 'From the request to change something until it is committed, waiting included.',
        labels: ['database'],
        read: () =>
          [...seconds].flatMap(([database, histogram]) => toMetricValues({ database }, histogram)),
      },
      createCounter(
        {
          name: 'shoal_store_write_failures_total',
          help: 'Changes that were not committed, also those that were refused for what they hold.',
          labels: ['database'],
        },
        failures,
      ),
    ],
  }
}
