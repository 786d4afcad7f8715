import type { Logger } from 'pino'
import type { Catalogue, CatalogueEntry } from '../../shared/catalogue.ts'
import type { Metric } from '../../shared/metrics/metric.ts'
import type { EngineReport } from '../../shared/wire/telemetry.ts'
import type { Clock } from './clock.ts'
import type { InferenceConfig } from './config.ts'
import { Engine } from './engine.ts'
import type { SpawnEngine } from './engine-child.ts'
import { groupByWeights, listEngineOptions, MAX_ENGINES } from './engine-groups.ts'
import { engineMetrics } from './engine-metrics.ts'
import type { EngineOptions, EngineParts, FetchWeights } from './engine-options.ts'
import type { EngineView } from './engine-view.ts'
import { gpuMayBePresent } from './gpu-present.ts'
import { Leftovers } from './leftovers.ts'
import { makeRoom } from './memory/make-room.ts'
import type { ReadMemory } from './memory/read-memory.ts'
import type { StepCounts } from './protocol.ts'
import type { Tuner } from './tuning/tuner.ts'
import type { WeightsPlaces } from './weights.ts'

interface EnginesParts {
  clock: Clock
  spawn: SpawnEngine
  logger: Logger
  /** Absent: nothing is measured, the defaults are used. */
  tuner?: Tuner | undefined
  fetch: FetchWeights
  readMemory: ReadMemory
  places: WeightsPlaces
}

/** Limits that a restart of the engines can change. */
export type EngineLimits = Pick<InferenceConfig, 'slots' | 'threads'>

interface Served {
  entry: CatalogueEntry
  engine: Engine
}

/** The engines of a catalogue: models with the same weights share one. */
export class Engines {
  readonly #byModel = new Map<string, Served>()
  /** Model ids that are to stay loaded. */
  #pinned: ReadonlySet<string> = new Set()
  readonly #listeners = new Set<() => void>()
  #catalogue: Catalogue
  readonly #parts: EnginesParts
  readonly #leftovers: Leftovers
  #config: InferenceConfig
  #engines: readonly Engine[]
  /** Engines that the catalogue does not name any more and that still answer requests. */
  readonly #retiring = new Set<Engine>()
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
    return this.#arrange(groupByWeights(this.#catalogue, this.#parts.places), () => undefined)
  }

  /** Gives each group of ids an engine: one that exists, or a new one. */
  #arrange(
    groups: readonly CatalogueEntry[][],
    findExisting: (options: EngineOptions) => Engine | undefined,
  ): readonly Engine[] {
    this.#byModel.clear()
    return groups.map(entries => {
      const choices = listEngineOptions(entries, this.#config, this.#parts.places)
      const [options] = choices
      const [existing] = choices.flatMap(each => findExisting(each) ?? [])
      const engine = existing ?? this.#create(options)
      engine.serve(options)
      engine.pin(entries.some(({ id }) => this.#pinned.has(id)))
      for (const entry of entries) this.#byModel.set(entry.id, { entry, engine })
      return engine
    })
  }

  #create(options: EngineOptions): Engine {
    return new Engine(options, {
      ...this.#parts,
      leftovers: this.#leftovers,
      onChange: this.notify,
      makeRoom: this.#makeRoom,
    })
  }

  /** Calls the listeners back: what the cell reports of its engines has changed. */
  readonly notify = (): void => {
    for (const listener of this.#listeners) listener()
  }

  /**
   * Serves another catalogue. Engines that it still names go on; those that it does not name end
   * once they have answered their requests.
   *
   * @throws ShoalError config_invalid for a catalogue that a cell cannot serve; nothing is changed
   */
  setCatalogue(catalogue: Catalogue): void {
    const groups = groupByWeights(catalogue, this.#parts.places)
    this.#catalogue = catalogue
    const before = new Set([...this.#engines, ...this.#retiring])
    const all = [...before]
    this.#engines = this.#arrange(groups, options =>
      all.find(engine => engine.kind === options.kind && engine.isLike(options)),
    )
    for (const engine of this.#engines) this.#retiring.delete(engine)
    const created = this.#engines.filter(engine => !before.has(engine))
    for (const engine of before)
      if (!this.#engines.includes(engine) && !this.#retiring.has(engine)) void this.#retire(engine)
    this.#takeUp(created)
    this.notify()
  }

  #takeUp(created: readonly Engine[]): void {
    if (this.#life === undefined || this.#life.aborted) return
    // one that had ended a moment ago may be needed again
    for (const engine of this.#engines) engine.start()
    void this.#begin(this.#life, created)
  }

  async #retire(engine: Engine): Promise<void> {
    this.#retiring.add(engine)
    await engine.retire()
    // it is needed again when the catalogue has named it meanwhile
    if (this.#retiring.delete(engine)) this.notify()
  }

  /** Engine that serves a model id. */
  find(model: string): ReturnType<EngineView['find']> {
    const found = this.#byModel.get(model)
    if (found === undefined) return undefined
    const { entry, engine } = found
    const submit: Engine['submit'] = (work, bytes, listener, how) =>
      engine.submit(work, bytes, listener, { ...how, model })
    return { entry, engine: { submit } }
  }

  /** Goes on with the downloads that were stopped, as they are allowed again. */
  resumeDownloads(): void {
    for (const engine of this.#engines) engine.resumeDownload()
  }

  /** The engine of a model id, with its whole life. */
  engine(model: string): Engine | undefined {
    return this.#byModel.get(model)?.engine
  }

  /** Keeps these models loaded, and unpins all others. */
  pin(models: ReadonlySet<string>): void {
    this.#pinned = models
    for (const engine of this.#engines) engine.pin(engine.models.some(model => models.has(model)))
  }

  /** Reports of all engines; reading them never starts one. */
  reports(): EngineReport[] {
    const { memory_limit_percent } = this.#config
    const reports = this.#engines.map(engine => engine.report())
    const labels = new Set(reports.map(({ weights }) => weights))
    const ending = [...this.#retiring].map(engine => engine.report())
    const all = [...reports, ...ending.filter(({ weights }) => !labels.has(weights))]
    return all.slice(0, MAX_ENGINES).map(report => ({ ...report, memory_limit_percent }))
  }

  /** Ids of the running engine processes. */
  pids(): number[] {
    return this.#all.flatMap(engine => engine.pid ?? [])
  }

  /** Batch statistics of each running engine. */
  counts(): StepCounts[] {
    return this.#engines.flatMap(engine => engine.counts ?? [])
  }

  /** Metrics of all engines for Prometheus. */
  metrics(): Metric[] {
    return engineMetrics(this.#engines)
  }

  /**
   * Calls the listener after each change of an engine's state; the returned function removes it.
   */
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
    await this.#begin(signal, this.#engines)
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
    if (this.#life !== undefined && !this.#life.aborted)
      await this.#begin(this.#life, this.#engines)
  }

  async #begin(life: AbortSignal, engines: readonly Engine[]): Promise<void> {
    for (const engine of engines) engine.start()
    await this.#preload(engines, life)
    await Promise.all(engines.map(engine => engine.survey()))
  }

  async #preload(engines: readonly Engine[], life: AbortSignal): Promise<void> {
    for (const engine of this.#toPreload(engines)) {
      if (life.aborted) return
      if (this.#engines.includes(engine)) await engine.load({ preload: this.#config.preload })
    }
  }

  /** Engines to preload, those with local weights first, so that downloads do not delay them. */
  #toPreload(engines: readonly Engine[]): Engine[] {
    const wanted = engines.filter(({ pinned }) => this.#config.preload || pinned)
    const rank = ({ pinned, isRemote }: Engine): number => (isRemote ? 2 : 0) - (pinned ? 1 : 0)
    return wanted.sort((a, b) => rank(a) - rank(b))
  }

  /** Engines of the catalogue, and those that end. */
  get #all(): readonly Engine[] {
    return this.#retiring.size === 0 ? this.#engines : [...this.#engines, ...this.#retiring]
  }

  #makeRoom: EngineParts['makeRoom'] = seeker =>
    makeRoom(seeker, {
      ...this.#parts,
      leftovers: this.#leftovers,
      engines: this.#all,
      device: this.#device,
      limitPercent: this.#config.memory_limit_percent,
    })

  /** Device used by the engines; a GPU that no engine can use does not count. */
  get #device(): 'gpu' | 'host' {
    const mayUse = this.#config.gpu === 'auto' && gpuMayBePresent()
    return mayUse && !this.#engines.some(({ device }) => device === 'cpu') ? 'gpu' : 'host'
  }

  #stop(): void {
    for (const engine of this.#all) engine.stop()
  }
}
