import type { Logger } from 'pino'
import type { ModelKind } from '../../shared/catalogue.ts'
import type { AdmissionLimits } from './admission.ts'
import type { Clock } from './clock.ts'
import type { SpawnEngine } from './engine-child.ts'
import type { Leftovers } from './leftovers.ts'
import type { Tuner } from './tuning/tuner.ts'
import type { Weights } from './weights.ts'

/** Downloads missing weights; resolves at once when they exist. */
export type FetchWeights = (
  weights: Weights,
  onProgress: (bytes: number, totalBytes: number | undefined) => void,
  signal: AbortSignal,
) => Promise<void>

export interface EngineOptions {
  weights: Weights
  kind: ModelKind
  /** Catalogue ids; they may change while it runs. */
  models: readonly string[]
  /** The most that any of the models promises; the weights may allow less. */
  contextLength: number
  limits: AdmissionLimits
  threads: number
  /** Limits to be measured, where measuring is enabled. */
  auto?: { slots: boolean; threads: boolean }
  gpu: 'auto' | 'off'
  loadTimeoutSeconds: number
  watchdogSeconds: number
  /** 0 is never. */
  idleUnloadMinutes: number
}

/** An engine that needs memory in order to load. */
export interface RoomSeeker {
  /** Engines of the same name want the same memory. */
  name: string
  needBytes: number
  /** Others may be ended for it. */
  mayEvict: boolean
  /** Aborts when it is not wanted any more. */
  signal: AbortSignal
  /** Counts the memory as taken from now on. */
  promise(): void
}

export interface EngineParts {
  clock: Clock
  spawn: SpawnEngine
  logger: Logger
  leftovers: Leftovers
  /** Absent: the limits of the options are used. */
  tuner?: Pick<Tuner, 'limits'> | undefined
  fetch: FetchWeights
  /** Resolves when the memory was promised to the engine and is free, or nobody wants it. @throws NoRoom */
  makeRoom: (seeker: RoomSeeker) => Promise<void>
  /** Runs after each change of the state. */
  onChange: () => void
}
