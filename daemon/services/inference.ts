import { randomInt } from 'node:crypto'
import type { Logger } from 'pino'
import type { Catalogue } from '../../shared/catalogue.ts'
import { randomId } from '../../shared/ids.ts'
import type { Metric } from '../../shared/metrics/metric.ts'
import type { EngineReport } from '../../shared/wire/telemetry.ts'
import { systemClock } from '../inference/clock.ts'
import type { InferenceConfig } from '../inference/config.ts'
import { engineSpawner } from '../inference/engine-child.ts'
import { type EngineLimits, Engines } from '../inference/engines.ts'
import { createHandler } from '../inference/handler.ts'
import { SEEDS } from '../inference/openai/chat-order.ts'
import type { HttpRequest, HttpResponse } from '../inference/openai/http.ts'
import type { StepCounts } from '../inference/protocol.ts'
import type { Service } from '../service.ts'

export interface InferenceService extends Service {
  reports(): EngineReport[]
  /** Called after each change of an engine's state; the answer ends it. */
  onChange(listener: () => void): () => void
  /** Process ids of the engines that run now. */
  pids(): number[]
  /** How full the batches of each running engine were. */
  counts(): StepCounts[]
  metrics(): Metric[]
  /** Ends the engines and starts them again, with other limits when they are given. */
  restart(limits?: EngineLimits): Promise<void>
  /** Answers one request of the link or of a listener on loopback. */
  handle(request: HttpRequest, response: HttpResponse): void
}

/** The models of the catalogue, each in an engine process of its own, behind the OpenAI shapes. */
export const inferenceService = ({
  catalogue,
  config,
  logger,
}: {
  catalogue: Catalogue
  config: InferenceConfig
  logger: Logger
}): InferenceService => {
  const engines = new Engines(catalogue, config, {
    clock: systemClock,
    spawn: engineSpawner(logger),
    logger,
  })
  const handle = createHandler({
    engines,
    catalogue,
    logger,
    now: Date.now,
    newId: randomId,
    newSeed: () => randomInt(SEEDS),
    repeat: everySeconds(config.keepalive_seconds),
  })
  return {
    name: 'inference',
    reports: () => engines.reports(),
    onChange: listener => engines.onChange(listener),
    pids: () => engines.pids(),
    counts: () => engines.counts(),
    metrics: () => engines.metrics(),
    restart: limits => engines.restart(limits),
    handle,
    start: async ({ signal, fail }) => {
      // Usable at once: requests wait for their model.
      engines.start(signal).then(() => {
        if (!signal.aborted) logger.info('models are loaded')
      }, fail)
    },
  }
}

const everySeconds =
  (seconds: number) =>
  (run: () => void): (() => void) => {
    const timer = setInterval(run, seconds * 1000)
    return () => clearInterval(timer)
  }
