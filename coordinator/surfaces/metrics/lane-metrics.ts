import type { Histogram } from '../../../shared/metrics/histogram.ts'
import { type Metric, toMetricValues } from '../../../shared/metrics/metric.ts'
import type { LaneName } from '../../kernel/store/lanes.ts'

export const LANES: readonly LaneName[] = ['sealed', 'free']

/** Metrics of one lane of one database. */
export interface LaneMetrics {
  database: string
  lane: LaneName
  /** Changes that were requested and are not committed yet. */
  pending: number
  /** Changes that were tried again. */
  retries: number
  /** Time from the request of a change until it is committed. */
  seconds: Histogram
  /** Time from the beginning of a transaction until it is committed. */
  commitSeconds: Histogram
  /** Changes that were committed. */
  changes: number
}

export const listLaneMetrics = (lanes: readonly LaneMetrics[]): Metric[] => {
  const labels = ['database', 'lane']
  const labelsOf = ({ database, lane }: LaneMetrics) => ({ database, lane })
  const histogram = (
    name: string,
    help: string,
    read: (lane: LaneMetrics) => Histogram,
  ): Metric => ({
    name,
    type: 'histogram',
    help,
    labels,
    read: () => lanes.flatMap(lane => toMetricValues(labelsOf(lane), read(lane))),
  })
  const number = (
    facts: Pick<Metric, 'name' | 'type' | 'help'>,
    read: (lane: LaneMetrics) => number,
  ): Metric => ({
    ...facts,
    labels,
    read: () => lanes.map(lane => ({ labels: labelsOf(lane), value: read(lane) })),
  })
  return [
    histogram(
      'shoal_store_write_duration_seconds',
      'From the request to change something until it is committed, waiting included.',
      lane => lane.seconds,
    ),
    histogram(
      'shoal_store_commit_duration_seconds',
      'From the beginning of a transaction until it is committed; SQLite counts both lanes as sealed.',
      lane => lane.commitSeconds,
    ),
    number(
      {
        name: 'shoal_store_changes_total',
        type: 'counter',
        help: 'Changes that were committed; per commit, the changes that share a transaction.',
      },
      lane => lane.changes,
    ),
    number(
      {
        name: 'shoal_store_pending_changes',
        type: 'gauge',
        help: 'Changes that were requested and are not committed yet.',
      },
      lane => lane.pending,
    ),
    number(
      {
        name: 'shoal_store_retries_total',
        type: 'counter',
        help: 'Changes that were tried again after a collision or a lost connection.',
      },
      lane => lane.retries,
    ),
  ]
}
