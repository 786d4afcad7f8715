import { FAST_SECONDS, Histogram } from '../../shared/metrics/histogram.ts'
import { counter, type Metric, single, Tally } from '../../shared/metrics/metric.ts'
import type { Outcome } from '../fleet/dispatch.ts'

/** One request on its way to a cell. */
export interface RoutingWatch {
  /** To be given every choice of the router; answers it. `tried`: cells that had the request. */
  picked<T>(tried: number, engine: T | undefined): T | undefined
  /** It is over; only the first call counts. */
  ended(outcome: Pick<Outcome, 'status' | 'usage'>): void
}

export interface InferenceFigures {
  /** A request was admitted and a cell is looked for. */
  started(model: string): RoutingWatch
  metrics: readonly Metric[]
}

/** What became of inference requests, and what finding cells for them took. */
export const createInferenceFigures = (
  nowMs: () => number = () => performance.now(),
): InferenceFigures => {
  const outcomes = new Tally()
  const tokens = new Tally()
  const wait = new Histogram(FAST_SECONDS)
  let routed = 0
  let unrouted = 0
  let retries = 0
  let inFlight = 0

  const started: InferenceFigures['started'] = model => {
    const startedMs = nowMs()
    let open = true
    inFlight++
    return {
      picked: (tried, engine) => {
        if (engine === undefined) {
          unrouted++
          return engine
        }
        if (tried > 0) retries++
        else wait.observe((nowMs() - startedMs) / 1000)
        routed++
        return engine
      },
      ended: ({ status, usage }) => {
        if (!open) return
        open = false
        inFlight--
        outcomes.add([model, status])
        if (usage === undefined) return
        tokens.add([model, 'prompt'], usage.prompt_tokens)
        tokens.add([model, 'completion'], usage.completion_tokens)
        tokens.add([model, 'cached'], usage.prompt_tokens_details?.cached_tokens ?? 0)
      },
    }
  }

  return {
    started,
    metrics: [
      counter(
        {
          name: 'shoal_inference_requests_total',
          help: 'Inference requests that were admitted, by how they ended; refused cost nothing.',
          labels: ['model', 'outcome'],
        },
        outcomes,
      ),
      counter(
        {
          name: 'shoal_inference_tokens_total',
          help: 'Tokens of answered requests; cached ones are part of the prompt.',
          labels: ['model', 'kind'],
        },
        tokens,
      ),
      single(
        {
          name: 'shoal_inference_in_flight',
          type: 'gauge',
          help: 'Inference requests between admission and the end of their answer.',
        },
        () => inFlight,
      ),
      {
        name: 'shoal_routing_decisions_total',
        type: 'counter',
        help: 'Times a cell was looked for: routed to one, or none was left.',
        labels: ['result'],
        read: () => [
          { labels: { result: 'routed' }, value: routed },
          { labels: { result: 'no_cell' }, value: unrouted },
        ],
      },
      single(
        {
          name: 'shoal_routing_retries_total',
          type: 'counter',
          help: 'Times another cell was asked because the one before was full, gone or failing.',
        },
        () => retries,
      ),
      single(
        {
          name: 'shoal_routing_wait_seconds',
          type: 'histogram',
          help: 'From admission until a cell was chosen.',
        },
        () => wait,
      ),
    ],
  }
}
