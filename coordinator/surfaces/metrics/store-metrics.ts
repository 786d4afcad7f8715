import { FAST_SECONDS, Histogram } from '../../../shared/metrics/histogram.ts'
import { createCounter, createMetric, type Metric, Tally } from '../../../shared/metrics/metric.ts'
import { systemRuntime } from '../../../shared/runtime.ts'
import type { ChangeHook } from '../../kernel/store/change-hook.ts'
import { countDamagedRows } from '../../kernel/store/damaged-rows.ts'
import type { LaneObserver } from '../../kernel/store/engine.ts'
import type { LaneName } from '../../kernel/store/lanes.ts'
import type { StoreHooks, StoreOptions } from '../../kernel/store/store.ts'
import { LANES, type LaneMetrics, listLaneMetrics } from './lane-metrics.ts'

const DATABASES = ['ledger', 'records'] as const
type DatabaseName = (typeof DATABASES)[number]

export interface StoreMetrics {
  /** Times the changes of both databases. */
  hooks: Required<StoreHooks>
  observers: Required<NonNullable<StoreOptions['observers']>>
  onOutage: NonNullable<StoreOptions['onOutage']>
  list: readonly Metric[]
}

/** Measures how long changes take until they are committed. */
export const createStoreMetrics = (nowMs: () => number = systemRuntime.nowMs): StoreMetrics => {
  const lanes = DATABASES.flatMap(database => LANES.map(lane => newLane(database, lane)))
  const failures = new Tally()
  let isAway = false
  const laneOf = (database: DatabaseName, name: LaneName): LaneMetrics =>
    lanes.find(lane => lane.database === database && lane.lane === name) as LaneMetrics

  const timing =
    <T>(database: DatabaseName): ChangeHook<T> =>
    async (work, commit, name) => {
      const lane = laneOf(database, name)
      const startedMs = nowMs()
      lane.pending++
      try {
        return await commit(work)
      } catch (error) {
        failures.add([database])
        throw error
      } finally {
        lane.pending--
        lane.seconds.observe((nowMs() - startedMs) / 1000)
      }
    }

  const observe = (database: DatabaseName): LaneObserver => ({
    onCommit: (name, works, seconds) => {
      const lane = laneOf(database, name)
      lane.changes += works
      lane.commitSeconds.observe(seconds)
    },
    onRetry: name => {
      laneOf(database, name).retries++
    },
  })

  return {
    hooks: { ledger: [timing('ledger')], records: [timing('records')] },
    observers: { ledger: observe('ledger'), records: observe('records') },
    onOutage: reason => {
      isAway = reason !== undefined
    },
    list: [
      ...listLaneMetrics(lanes),
      createCounter(
        {
          name: 'shoal_store_write_failures_total',
          help: 'Changes that were not committed, including those refused for their content.',
          labels: ['database'],
        },
        failures,
      ),
      createMetric(
        {
          name: 'shoal_store_away',
          type: 'gauge',
          help: 'Whether everything fails at once because the database cannot be reached: 1 or 0.',
        },
        () => Number(isAway),
      ),
      {
        name: 'shoal_store_damaged_rows',
        type: 'gauge',
        help: 'Rows that could not be read when this coordinator last tried, damaged or of a newer version; at most 1000 per table.',
        labels: ['table'],
        read: () =>
          Object.entries(countDamagedRows()).map(([table, value]) => ({
            labels: { table },
            value,
          })),
      },
    ],
  }
}

const newLane = (database: DatabaseName, lane: LaneName): LaneMetrics => ({
  database,
  lane,
  pending: 0,
  retries: 0,
  seconds: new Histogram(FAST_SECONDS),
  commitSeconds: new Histogram(FAST_SECONDS),
  changes: 0,
})
