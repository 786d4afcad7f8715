import { FAST_SECONDS, Histogram } from '../../../shared/metrics/histogram.ts'
import { createMetric, type Metric } from '../../../shared/metrics/metric.ts'
import { systemRuntime } from '../../../shared/runtime.ts'
import { FAULTS, type Fault } from '../../fleet/routing/health/fault.ts'
import type { DispatchOutcome } from '../../gateway/dispatch/dispatch-request.ts'

/** One request on its way to a cell. */
export interface RoutingWatch {
  /** Passes a choice of the router through. `tried`: number of cells that had the request. */
  recordPick<T>(tried: number, engine: T | undefined): T | undefined
  /** Records the end of the request; only the first call counts. */
  recordEnd(outcome: InferenceEnd): void
}

/** `discarded`: the cascade gave up the answer; the request itself goes on. */
interface InferenceEnd extends Pick<DispatchOutcome, 'usage'> {
  status: DispatchOutcome['status'] | 'discarded'
}

interface ModelMetrics {
  outcomes: Record<InferenceEnd['status'], number>
  tokens: { prompt: number; completion: number; cached: number }
}

const newMetrics = (): ModelMetrics => ({
  outcomes: { ok: 0, cancelled: 0, failed: 0, refused: 0, discarded: 0 },
  tokens: { prompt: 0, completion: 0, cached: 0 },
})

const count = (
  { outcomes, tokens }: ModelMetrics,
  status: InferenceEnd['status'],
  usage: DispatchOutcome['usage'],
): void => {
  outcomes[status]++
  if (usage === undefined) return
  tokens.prompt += usage.prompt_tokens
  tokens.completion += usage.completion_tokens
  tokens.cached += usage.prompt_tokens_details?.cached_tokens ?? 0
}

/** Counts how inference requests ended, and what it took to find cells for them. */
export class InferenceMetrics {
  readonly #nowMs: () => number
  readonly #models = new Map<string, ModelMetrics>()
  readonly #faults = new Map<Fault, number>()
  readonly #wait = new Histogram(FAST_SECONDS)
  #routed = 0
  #unrouted = 0
  #retries = 0
  #inFlight = 0

  constructor(nowMs: () => number = systemRuntime.nowMs) {
    this.#nowMs = nowMs
  }

  /** Counts a failure of a cell, whichever request it was. */
  countFault(fault: Fault): void {
    this.#faults.set(fault, (this.#faults.get(fault) ?? 0) + 1)
  }

  /** Begins to watch a request that was admitted and needs a cell. */
  watchRequest(model: string): RoutingWatch {
    const startedMs = this.#nowMs()
    let isOpen = true
    this.#inFlight++
    return {
      recordPick: (tried, engine) => {
        if (engine === undefined) {
          this.#unrouted++
          return engine
        }
        if (tried > 0) this.#retries++
        else this.#wait.observe((this.#nowMs() - startedMs) / 1000)
        this.#routed++
        return engine
      },
      recordEnd: ({ status, usage }) => {
        if (!isOpen) return
        isOpen = false
        this.#inFlight--
        count(this.#metricsOf(model), status, usage)
      },
    }
  }

  get list(): readonly Metric[] {
    return [...this.#requestMetrics(), ...this.#listRoutingMetrics()]
  }

  #requestMetrics(): Metric[] {
    return [
      {
        name: 'shoal_inference_requests_total',
        type: 'counter',
        help: 'Admitted inference requests by outcome; refused ones are refunded, discarded ones are answers that the cascade gave up.',
        labels: ['model', 'outcome'],
        read: () => this.#readParts('outcome', 'outcomes'),
      },
      {
        name: 'shoal_inference_tokens_total',
        type: 'counter',
        help: 'Tokens of answered requests; cached ones are part of the prompt.',
        labels: ['model', 'kind'],
        read: () => this.#readParts('kind', 'tokens'),
      },
      createMetric(
        {
          name: 'shoal_inference_in_flight',
          type: 'gauge',
          help: 'Inference requests between admission and the end of their answer.',
        },
        () => this.#inFlight,
      ),
    ]
  }

  #listRoutingMetrics(): Metric[] {
    return [
      {
        name: 'shoal_routing_decisions_total',
        type: 'counter',
        help: 'Routing decisions: a cell was chosen, or none was left.',
        labels: ['result'],
        read: () => [
          { labels: { result: 'routed' }, value: this.#routed },
          { labels: { result: 'no_cell' }, value: this.#unrouted },
        ],
      },
      createMetric(
        {
          name: 'shoal_routing_retries_total',
          type: 'counter',
          help: 'Retries on another cell because the one before was full, gone or failing.',
        },
        () => this.#retries,
      ),
      createMetric(
        {
          name: 'shoal_routing_wait_seconds',
          type: 'histogram',
          help: 'Time from admission until a cell was chosen.',
        },
        () => this.#wait,
      ),
      {
        name: 'shoal_cell_faults_total',
        type: 'counter',
        help: 'Requests that failed on a cell, by how they failed; most were answered by another.',
        labels: ['fault'],
        read: () =>
          FAULTS.map(fault => ({ labels: { fault }, value: this.#faults.get(fault) ?? 0 })),
      },
    ]
  }

  #metricsOf(model: string): ModelMetrics {
    const metrics = this.#models.get(model) ?? newMetrics()
    this.#models.set(model, metrics)
    return metrics
  }

  /** One part of the metrics of every model. */
  #readParts(label: string, part: keyof ModelMetrics): ReturnType<Metric['read']> {
    return [...this.#models].flatMap(([model, metrics]) =>
      Object.entries(metrics[part]).map(([name, value]) => ({
        labels: { model, [label]: name },
        value,
      })),
    )
  }
}
