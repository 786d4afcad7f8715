import { FAST_SECONDS, Histogram } from '../../shared/metrics/histogram.ts'
import { counter, histogramValues, type Metric, Tally } from '../../shared/metrics/metric.ts'
import type { Database } from '../store/database.ts'
import type { Store } from '../store/store.ts'

const DATABASES = ['ledger', 'records'] as const
type DatabaseName = (typeof DATABASES)[number]

export interface StoreFigures {
  /** The same store, whose writes are timed. */
  watch(store: Store): Store
  metrics: readonly Metric[]
}

/** How long changes take until they are committed. */
export const createStoreFigures = (nowMs: () => number = () => performance.now()): StoreFigures => {
  const seconds = new Map(DATABASES.map(name => [name, new Histogram(FAST_SECONDS)] as const))
  const failures = new Tally()

  const timed = <T>(database: Database<T>, name: DatabaseName): Database<T> => ({
    ...database,
    write: async (work, options) => {
      const startedMs = nowMs()
      try {
        return await database.write(work, options)
      } catch (error) {
        failures.add([name])
        throw error
      } finally {
        seconds.get(name)?.observe((nowMs() - startedMs) / 1000)
      }
    },
  })

  return {
    watch: store => ({
      ...store,
      ledger: timed(store.ledger, 'ledger'),
      records: timed(store.records, 'records'),
    }),
    metrics: [
      {
        name: 'shoal_store_write_duration_seconds',
        type: 'histogram',
        help: 'From the request to change something until it is committed, waiting included.',
        labels: ['database'],
        read: () =>
          [...seconds].flatMap(([database, histogram]) => histogramValues({ database }, histogram)),
      },
      counter(
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
