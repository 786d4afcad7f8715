import { randomInt } from 'node:crypto'
import type { Logger } from 'pino'
import type { Catalogue } from '../../shared/catalogue.ts'
import { randomId } from '../../shared/ids.ts'
import type { EngineReport } from '../../shared/wire/telemetry.ts'
import { systemClock } from '../inference/clock.ts'
import type { InferenceConfig } from '../inference/config.ts'
import { engineSpawner } from '../inference/engine-child.ts'
import { type EngineLimits, Engines } from '../inference/engines.ts'
import { createHandler } from '../inference/handler.ts'
import { SEEDS } from '../inference/openai/chat-order.ts'
import type { HttpRequest, HttpResponse } from '../inference/openai/http.ts'
import type { StepCounts } from '../inference/protocol.ts'
import { Tuner, type TunerOptions } from '../inference/tuning/tuner.ts'
import type { Service } from '../service.ts'

export interface InferenceService extends Service {
  reports(): EngineReport[]
  /** Called after each change of an engine's state; the answer ends it. */
  onChange(listener: () => void): () => void
  /** Process ids of the engines that run now. */
  pids(): number[]
  /** How full the batches of each running engine were. */
  counts(): StepCounts[]
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
  tuning,
}: {
  catalogue: Catalogue
  config: InferenceConfig
  logger: Logger
  /** Absent: nothing is measured. */
  tuning?: TunerOptions
}): InferenceService => {
  const shared = { clock: systemClock, spawn: engineSpawner(logger), logger }
  const tuner = tuning && new Tuner(tuning, { ...shared, now: Date.now })
  const engines = new Engines(catalogue, config, { ...shared, tuner })
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
