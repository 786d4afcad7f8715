import { ShoalError } from '../../shared/errors.ts'
import type { EngineReport } from '../../shared/wire/telemetry.ts'
import { SlotAdmission, type SlotRequest } from './admission.ts'
import { createStoppedError, EngineLife, MAX_REASON_LENGTH } from './engine-life.ts'
import type { EngineOptions, EngineParts } from './engine-options.ts'
import { JobMetrics } from './job-metrics.ts'
import { type EngineEvent, Jobs, type JobWork } from './jobs.ts'
import type { Resident } from './memory/plan-room.ts'
import type { StepCounts } from './protocol.ts'

/** Interval at which an engine that is not needed any more looks whether its requests have ended. */
const RETIRE_LOOK_MS = 200

/** One weights file and the process that serves it. */
export class Engine {
  readonly #options: EngineOptions
  readonly #admission: SlotAdmission
  readonly #jobs: Jobs
  readonly #life: EngineLife
  readonly #clock: EngineParts['clock']
  /** Statistics of its requests. */
  readonly metrics = new JobMetrics()

  constructor(options: EngineOptions, parts: EngineParts) {
    this.#options = options
    this.#clock = parts.clock
    this.#admission = new SlotAdmission(options.limits, parts.clock, ({ model }) =>
      this.#describeLoading(model),
    )
    this.#jobs = new Jobs(this.#admission, this.metrics, () => parts.clock.now())
    this.#life = new EngineLife(options, parts, this.#admission, this.#jobs)
  }

  get pid(): number | undefined {
    return this.#life.process?.pid
  }

  /** Batch statistics of the current process. */
  get counts(): StepCounts | undefined {
    return this.#life.process?.counts
  }

  /** Device on which the process computed when it was last ready. */
  get device(): string | undefined {
    return this.#life.device
  }

  /** True when the catalogue says that its weights must be downloaded first. */
  get isRemote(): boolean {
    return this.#options.weights.url !== undefined
  }

  get pinned(): boolean {
    return this.#life.pinned
  }

  /** Engines of the same name want the same memory. */
  get name(): string {
    return this.#life.name
  }

  /** Catalogue ids that it serves. */
  get models(): readonly string[] {
    return this.#life.models
  }

  /** Location of the weights. */
  get weights(): EngineOptions['weights'] {
    return this.#options.weights
  }

  get kind(): EngineOptions['kind'] {
    return this.#options.kind
  }

  /** True when this engine can serve the ids of these options as it is. */
  isLike({ weights, contextLength }: EngineOptions): boolean {
    const { weights: own } = this.#options
    return (
      this.#life.approach.holds(contextLength) &&
      weights.file === own.file &&
      weights.sha256 === own.sha256 &&
      weights.url?.href === own.url?.href
    )
  }

  /** Serves these ids from now on; the next load adopts the context that they promise. */
  serve({ models, contextLength }: Pick<EngineOptions, 'models' | 'contextLength'>): void {
    this.#life.models = models
    this.#life.approach.askedContext = contextLength
  }

  /** Serves no id any more. Resolves when the requests that it has are answered and it is stopped. */
  async retire(): Promise<void> {
    this.#life.models = []
    while (this.#life.models.length === 0 && !this.#admission.idle)
      await new Promise<void>(resolve => this.#clock.callAfter(RETIRE_LOOK_MS, resolve))
    if (this.#life.models.length === 0) this.stop()
  }

  /** The memory it has or was promised; undefined when it needs none. */
  get resident(): Omit<Resident, 'seenBytes'> | undefined {
    const { process, approach, state, readyAt } = this.#life
    if (process === undefined && !approach.isPromised) return undefined
    return {
      name: this.name,
      needBytes: approach.needBytes ?? 0,
      lastUsedAt: this.#admission.lastUsedAt,
      readyAt: state === 'ready' ? readyAt : undefined,
      busy: state !== 'ready' || !this.#admission.idle,
      pinned: this.pinned,
    }
  }

  report(): EngineReport {
    const { weights, kind } = this.#options
    const { approach, state, isRefused, restarts } = this.#life
    const { progress, contextLength, needBytes, fileBytes } = approach
    const refusal = state === 'cold' ? approach.refusal : undefined
    const reason = this.#life.reason ?? refusal?.slice(0, MAX_REASON_LENGTH)
    const idle = state === 'ready' && this.#admission.idle
    return {
      weights: weights.label.slice(-256),
      kind,
      models: [...this.#life.models],
      state,
      slots: this.#admission.slots,
      slots_busy: this.#admission.busy,
      queued: this.#admission.queued,
      queue_limit: this.#admission.queueLimit,
      context_length: contextLength,
      restarts: restarts.total,
      pinned: this.pinned,
      ...progress.report(),
      ...(idle && { idle_seconds: Math.floor(this.#life.idleMs / 1000) }),
      ...(needBytes !== undefined && { memory_bytes: needBytes }),
      ...(fileBytes !== undefined && { file_bytes: fileBytes }),
      ...(reason !== undefined && { reason }),
      ...((isRefused || refusal !== undefined) && { refused: true }),
    }
  }

  /** Accepts requests from now on; the first one loads the model. */
  start(): void {
    this.#life.start()
  }

  /**
   * Resolves when the model is ready, has failed, or finds no room. One that is preloaded stays,
   * and takes only memory that is free.
   */
  load({ preload = false } = {}): Promise<void> {
    return this.#life.load(preload)
  }

  /** Downloads the weights without loading them; resolves when that has ended, well or not. */
  pull(): Promise<void> {
    return this.#life.pull()
  }

  /** Goes on with a download that was stopped; no effect on any other engine. */
  resumeDownload(): void {
    this.#life.resumeDownload()
  }

  /** A pinned model is not unloaded for others or for want of requests. */
  pin(pinned: boolean): void {
    this.#life.pin(pinned)
  }

  /** Ends the process, or the loading of it. @throws ShoalError conflict while requests need it */
  unload(): void {
    const { busy, queued } = this.#admission
    if (busy + queued > 0)
      throw new ShoalError(
        'conflict',
        `${busy} requests run and ${queued} wait; drain the cell first`,
      )
    this.#life.cool()
  }

  /** Ends the process and refuses waiting requests, until `start`. */
  stop(): void {
    this.#life.stop()
  }

  /** Estimates the memory of a model that is not loaded; logs nothing on failure. */
  survey(): Promise<void> {
    return this.#life.approach.survey()
  }

  /**
   * Runs the work as soon as a slot is free. The answer cancels it, in any phase; after that the
   * listener hears nothing more.
   *
   * @param how.model what the client asked for
   * @param how.follows part of a request that was let in already: never refused because others wait
   * @throws ShoalError cell_unavailable when the engine has failed, its queue is full or it will
   * load for longer than anybody may wait; draining when it is stopped
   */
  submit(
    work: JobWork,
    bytes: number,
    listener: (event: EngineEvent) => void,
    how: SlotRequest = {},
  ): () => void {
    if (!this.#life.started) throw createStoppedError()
    if (this.#life.state === 'failed') throw this.#life.unavailable()
    if (this.#life.state === 'cold') void this.load()
    const { remainingSeconds = 0 } = this.#life.approach.progress
    if (remainingSeconds > this.#options.limits.queueTimeoutSeconds)
      throw this.#describeLoading(how.model)
    return this.#jobs.submit(work, bytes, listener, how)
  }

  #describeLoading(model = this.#life.models[0]): ShoalError {
    const { text, retryAfterSeconds } = this.#life.approach.progress
    return new ShoalError('cell_unavailable', `${model} is ${text}`, { retryAfterSeconds })
  }
}
