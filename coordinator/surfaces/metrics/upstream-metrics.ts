import { createCounter, type Metric, Tally } from '../../../shared/metrics/metric.ts'

export interface UpstreamMetrics {
  /** A request to an outside source ended. */
  countRequest(source: string, outcome: string): void
  /** A lookup got an answer of a source, which may have come from the cache. */
  noteAnswer(source: string, cache: string, ageSeconds: number): void
  list: readonly Metric[]
}

/** Metrics of the outside sources that lookups read. */
export const createUpstreamMetrics = (): UpstreamMetrics => {
  const requests = new Tally()
  const answers = new Tally()
  const ages = new Map<string, number>()
  return {
    countRequest: (source, outcome) => requests.add([source, outcome]),
    noteAnswer: (source, cache, ageSeconds) => {
      answers.add([source, cache])
      ages.set(source, ageSeconds)
    },
    list: [
      createCounter(
        {
          name: 'shoal_upstream_requests_total',
          help: 'Requests to outside sources, by outcome.',
          labels: ['source', 'outcome'],
        },
        requests,
      ),
      createCounter(
        {
          name: 'shoal_upstream_answers_total',
          help: 'Answers that lookups got of outside sources, by the part that the cache had.',
          labels: ['source', 'cache'],
        },
        answers,
      ),
      {
        name: 'shoal_upstream_answer_age_seconds',
        type: 'gauge',
        help: 'Age of the newest answer that a lookup got of a source.',
        labels: ['source'],
        read: () => [...ages].map(([source, value]) => ({ labels: { source }, value })),
      },
    ],
  }
}
