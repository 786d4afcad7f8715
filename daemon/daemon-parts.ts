import type { Logger } from 'pino'
import type { DeviceLink } from '../devices/device-link.ts'
import type { Metric } from '../shared/metrics/metric.ts'
import type { OnReload } from '../shared/reload-on-hangup.ts'
import type { ReceivedSettings } from '../shared/wire/desired.ts'
import type { RegisteredModels } from '../shared/wire/registered-models.ts'
import type { EngineReport } from '../shared/wire/telemetry.ts'
import type { Verb } from './commands/verb.ts'
import type { DaemonConfig } from './config.ts'
import type { GpuSampler } from './gpu/sampler.ts'
import type { EngineLimits } from './inference/engines.ts'
import type { ModelControl } from './inference/model-control.ts'
import type { Service } from './service.ts'
import type { Handle } from './services/link.ts'

/** Inference as the daemon uses it. */
export interface InferenceBackend extends Service {
  reports(): EngineReport[]
  onChange(listener: () => void): () => void
  /** Ends the engines and starts them again, where there are some. */
  restart?(limits?: EngineLimits): Promise<void>
  /** Gives the sampler from which the memory of the GPUs is read. */
  watchGpus?(gpus: Pick<GpuSampler, 'sample'>): void
  /** Load, unload and pin of single models. */
  models?: ModelControl
  /** Serves the models that operators added at the coordinator beside the configured ones. */
  setRegistered?(models: RegisteredModels | undefined): Promise<void>
  handle: Handle
  /** Prometheus metrics of the engines, where there are some. */
  metrics?(): Metric[]
}

export interface DaemonParts {
  /** Configuration, including the settings that the coordinator made before. */
  config: DaemonConfig
  /** Settings of the cell's own file; those of `config` by default. */
  local?: ReceivedSettings
  /** Registers a listener for the cell's own file after each reload. */
  onReload?: OnReload<DaemonConfig>
  env: Record<string, string | undefined>
  inference: InferenceBackend
  /** Links to devices besides those of the configuration. */
  links?: readonly DeviceLink[]
  /** Verbs of this cell besides those that every cell has. */
  verbs?: readonly Verb[]
  logger: Logger
  /** Stops the daemon once its running answers have ended; the promise then resolves. */
  leave?: AbortSignal
  /** Stops it at once. */
  signal: AbortSignal
}
