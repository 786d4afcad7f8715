import { createCounter, createMetric, type Metric, Tally } from '../../../shared/metrics/metric.ts'

export interface EventMetrics {
  /** Source of the number of open streams. */
  streams(count: () => number): void
  /** A reader was too slow. */
  cut(): void
  list: readonly Metric[]
}

/** Streams of events. */
export const createEventMetrics = (): EventMetrics => {
  let count = () => 0
  const cuts = new Tally()
  return {
    streams: source => {
      count = source
    },
    cut: () => cuts.add([]),
    list: [
      createMetric(
        { name: 'shoal_event_streams', type: 'gauge', help: 'Streams of events that are open.' },
        () => count(),
      ),
      createCounter(
        {
          name: 'shoal_event_streams_cut_total',
          help: 'Streams that were ended because their reader was too slow.',
          labels: [],
        },
        cuts,
      ),
    ],
  }
}
