import { availableParallelism } from 'node:os'
import type { Logger } from 'pino'
import type { Catalogue, CatalogueEntry } from '../../shared/catalogue.ts'
import type { EngineReport } from '../../shared/wire/telemetry.ts'
import type { Clock } from './clock.ts'
import type { InferenceConfig } from './config.ts'
import { Engine, type EngineOptions } from './engine.ts'
import type { SpawnEngine } from './engine-child.ts'
import { gpuMayBePresent } from './gpu-present.ts'
import { Leftovers } from './leftovers.ts'
import type { StepCounts } from './protocol.ts'
import type { Tuner } from './tuning/tuner.ts'
import { resolveWeights } from './weights.ts'

export interface EnginesParts {
  clock: Clock
  spawn: SpawnEngine
  logger: Logger
  /** Absent: nothing is measured, the defaults stand. */
  tuner?: Tuner | undefined
}

/** What can be changed by a restart of the engines. */
export type EngineLimits = Pick<InferenceConfig, 'slots' | 'threads'>

/** The engines of a catalogue: models with the same weights share one. */
export class Engines {
  readonly #byModel = new Map<string, { entry: CatalogueEntry; engine: Engine }>()
  readonly #listeners = new Set<() => void>()
  readonly #catalogue: Catalogue
  readonly #parts: EnginesParts
  readonly #leftovers: Leftovers
  #config: InferenceConfig
  #engines: readonly Engine[]
  #life: AbortSignal | undefined

  /** Starts nothing. */
  constructor(catalogue: Catalogue, config: InferenceConfig, parts: EnginesParts) {
    this.#catalogue = catalogue
    this.#parts = parts
    this.#leftovers = new Leftovers(parts.clock)
    this.#config = config
    this.#engines = this.#make()
  }

  #make(): readonly Engine[] {
    const onChange = (): void => {
      for (const listener of this.#listeners) listener()
    }
    return groupByWeights(this.#catalogue).map(entries => {
      const parts = { ...this.#parts, leftovers: this.#leftovers, onChange }
      const engine = new Engine(engineOptions(entries, this.#config), parts)
      for (const entry of entries) this.#byModel.set(entry.id, { entry, engine })
      return engine
    })
  }

  /** The engine and the catalogue entry of a model id. */
  find(model: string): { entry: CatalogueEntry; engine: Engine } | undefined {
    return this.#byModel.get(model)
  }

  /** Never starts an engine. */
  reports(): EngineReport[] {
    return this.#engines.map(engine => engine.report())
  }

  /** Of the engine processes that run now. */
  pids(): number[] {
    return this.#engines.flatMap(engine => engine.pid ?? [])
  }

  /** How full the batches of each running engine were. */
  counts(): StepCounts[] {
    return this.#engines.flatMap(engine => engine.counts ?? [])
  }

  /** Called after each change of an engine's state; the answer ends it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Takes requests until the signal aborts. Preloads one model after the other, because each takes
   * the memory that it finds free; resolves when that is done.
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#life = signal
    signal.addEventListener('abort', () => this.#stop(), { once: true })
    await this.#begin(signal)
  }

  /**
   * Ends the engines, whatever they are doing, and starts new ones, with other limits when they are
   * given. Resolves when the models are loaded again.
   */
  async restart(limits: EngineLimits = this.#config): Promise<void> {
    const { slots, threads } = limits
    const { threads: _, ...rest } = this.#config
    this.#config = { ...rest, slots, ...(threads !== undefined && { threads }) }
    this.#stop()
    this.#engines = this.#make()
    if (this.#life !== undefined && !this.#life.aborted) await this.#begin(this.#life)
  }

  async #begin(life: AbortSignal): Promise<void> {
    const engines = this.#engines
    for (const engine of engines) engine.start()
    if (!this.#config.preload) return
    for (const engine of engines) {
      if (life.aborted || engines !== this.#engines) return
      await engine.load()
    }
  }

  #stop(): void {
    for (const engine of this.#engines) engine.stop()
  }
}

const groupByWeights = (catalogue: Catalogue): CatalogueEntry[][] => [
  ...Map.groupBy(catalogue, entry => `${entry.kind} ${resolveWeights(entry).file}`).values(),
]

/** Where nothing is measured. */
const DEFAULT_SLOTS = 8

const isSet = (value: number | 'auto' | undefined): value is number => typeof value === 'number'

const engineOptions = (
  entries: readonly CatalogueEntry[],
  config: InferenceConfig,
): EngineOptions => {
  const first = entries[0] as CatalogueEntry
  const chatSlots = isSet(config.slots) ? config.slots : DEFAULT_SLOTS
  const slots = first.kind === 'chat' ? chatSlots : config.embedding_slots
  return {
    weights: resolveWeights(first),
    kind: first.kind,
    models: entries.map(entry => entry.id),
    contextLength: Math.max(...entries.map(entry => entry.context_length)),
    limits: {
      slots,
      queue: Math.ceil(slots * config.queue_factor),
      queueBytes: config.queue_prompt_bytes,
      queueTimeoutSeconds: config.queue_timeout_seconds,
    },
    threads: isSet(config.threads) ? config.threads : Math.max(1, availableParallelism() - 1),
    auto: { slots: !isSet(config.slots), threads: !isSet(config.threads) },
    gpu: config.gpu === 'auto' && gpuMayBePresent() ? 'auto' : 'off',
    loadTimeoutSeconds: config.load_timeout_seconds,
    watchdogSeconds: config.watchdog_seconds,
  }
}
