import { FAST_SECONDS, Histogram } from '../../shared/metrics/histogram.ts'
import { createMetric, type Metric } from '../../shared/metrics/metric.ts'
import type { Outcome } from '../fleet/dispatch.ts'

/** One request on its way to a cell. */
export interface RoutingWatch {
  /** To be given every choice of the router; answers it. `tried`: cells that had the request. */
  picked<T>(tried: number, engine: T | undefined): T | undefined
  /** It is over; only the first call counts. */
  ended(outcome: Ended): void
}

/** `discarded`: the cascade has given up the answer; the request itself goes on. */
export interface Ended extends Pick<Outcome, 'usage'> {
  status: Outcome['status'] | 'discarded'
}

export interface InferenceFigures {
  /** A request was admitted and a cell is looked for. */
  started(model: string): RoutingWatch
  metrics: readonly Metric[]
}

interface ModelFigures {
  outcomes: Record<Ended['status'], number>
  tokens: { prompt: number; completion: number; cached: number }
}

const newFigures = (): ModelFigures => ({
  outcomes: { ok: 0, cancelled: 0, failed: 0, refused: 0, discarded: 0 },
  tokens: { prompt: 0, completion: 0, cached: 0 },
})

const count = (
  { outcomes, tokens }: ModelFigures,
  status: Ended['status'],
  usage: Outcome['usage'],
): void => {
  outcomes[status]++
  if (usage === undefined) return
  tokens.prompt += usage.prompt_tokens
  tokens.completion += usage.completion_tokens
  tokens.cached += usage.prompt_tokens_details?.cached_tokens ?? 0
}

/** What became of inference requests, and what finding cells for them took. */
export const createInferenceFigures = (
  nowMs: () => number = () => performance.now(),
): InferenceFigures => {
  const models = new Map<string, ModelFigures>()
  const wait = new Histogram(FAST_SECONDS)
  let routed = 0
  let unrouted = 0
  let retries = 0
  let inFlight = 0

  const figuresOf = (model: string): ModelFigures => {
    const figures = models.get(model) ?? newFigures()
    models.set(model, figures)
    return figures
  }
  /** One part of the figures of every model. */
  const parts = (label: string, of: keyof ModelFigures) => () =>
    [...models].flatMap(([model, figures]) =>
      Object.entries(figures[of]).map(([part, value]) => ({
        labels: { model, [label]: part },
        value,
      })),
    )

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
        count(figuresOf(model), status, usage)
      },
    }
  }

  return {
    started,
    metrics: [
      {
        name: 'shoal_inference_requests_total',
        type: 'counter',
        help: 'Inference requests that were admitted, by how they ended; refused cost nothing, discarded are answers that the cascade has given up.',
        labels: ['model', 'outcome'],
        read: parts('outcome', 'outcomes'),
      },
      {
        name: 'shoal_inference_tokens_total',
        type: 'counter',
        help: 'Tokens of answered requests; cached ones are part of the prompt.',
        labels: ['model', 'kind'],
        read: parts('kind', 'tokens'),
      },
      createMetric(
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
      createMetric(
        {
          name: 'shoal_routing_retries_total',
          type: 'counter',
          help: 'Times another cell was asked because the one before was full, gone or failing.',
        },
        () => retries,
      ),
      createMetric(
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
