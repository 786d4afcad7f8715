import { createCounter, type Metric, Tally } from '../../../shared/metrics/metric.ts'

export interface QueueMetrics {
  /** An attempt of a job ended. */
  countAttempt(kind: string, outcome: string): void
  /** Number of jobs at the last count. */
  setJobCounts(jobs: readonly { kind: string; state: string; jobs: number }[]): void
  /** A request to an address of a user ended. */
  countRequest(outcome: string): void
  list: readonly Metric[]
}

/** Metrics of background jobs and outbound deliveries. */
export const createQueueMetrics = (): QueueMetrics => {
  const attempts = new Tally()
  const requests = new Tally()
  let counts: readonly { kind: string; state: string; jobs: number }[] = []
  return {
    countAttempt: (kind, outcome) => attempts.add([kind, outcome]),
    setJobCounts: jobs => {
      counts = jobs
    },
    countRequest: outcome => requests.add([outcome]),
    list: [
      {
        name: 'shoal_queue_jobs',
        type: 'gauge',
        help: 'Jobs that are kept, by state, as counted in the last 15 seconds.',
        labels: ['kind', 'state'],
        read: () => counts.map(({ jobs, ...labels }) => ({ labels, value: jobs })),
      },
      createCounter(
        {
          name: 'shoal_queue_attempts_total',
          help: 'Attempts of jobs by how they ended; early is one that was put off.',
          labels: ['kind', 'outcome'],
        },
        attempts,
      ),
      createCounter(
        {
          name: 'shoal_outbound_requests_total',
          help: 'Requests to addresses that users gave, by the class of the answer or the failure.',
          labels: ['outcome'],
        },
        requests,
      ),
    ],
  }
}
