import { createCounter, type Metric, Tally } from '../../../shared/metrics/metric.ts'

export interface UpstreamFigures {
  /** A request to an outside source ended. */
  countRequest(source: string, outcome: string): void
  /** A lookup got an answer of a source, which may have come from the cache. */
  noteAnswer(source: string, cache: string, ageSeconds: number): void
  metrics: readonly Metric[]
}

/** Metrics of the outside sources that lookups read. */
export const createUpstreamFigures = (): UpstreamFigures => {
  const requests = new Tally()
  const answers = new Tally()
  const ages = new Map<string, number>()
  return {
    countRequest: (source, outcome) => requests.add([source, outcome]),
    noteAnswer: (source, cache, ageSeconds) => {
      answers.add([source, cache])
      ages.set(source, ageSeconds)
    },
    metrics: [
      createCounter(
        {
          name: 'shoal_upstream_requests_total',
          help: 'Requests to outside sources, by what came of them.',
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
