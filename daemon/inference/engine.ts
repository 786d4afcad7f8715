import { ShoalError } from '../../shared/errors.ts'
import type { EngineReport, ModelState } from '../../shared/wire/telemetry.ts'
import { Admission, type Asked } from './admission.ts'
import { Approach } from './approach.ts'
import { DownloadError } from './downloads/download-error.ts'
import type { EngineOptions, EngineParts } from './engine-options.ts'
import { EngineProcess } from './engine-process.ts'
import { GgufError } from './gguf-reader.ts'
import { JobFigures } from './job-figures.ts'
import { type EngineEvent, Jobs, type Work } from './jobs.ts'
import { NoRoom } from './memory/no-room.ts'
import type { Resident } from './memory/plan-room.ts'
import type { ReadyReply, StepCounts } from './protocol.ts'
import { Restarts } from './restarts.ts'
import { Retry } from './retry.ts'
import { Tenure } from './tenure.ts'
import { fileStamp } from './weights.ts'

/** Weights that failed are looked at again this often, in case somebody has replaced them. */
const RECHECK_MS = 60_000
const MAX_REASON_LENGTH = 500

/** A process that cannot be killed is looked for this often. */
const LEFTOVER_MS = 5000
const LEFTOVER = 'the process before cannot be ended; another starts when it is gone'

/** Somebody who holds the memory may have ended by then. */
const NO_ROOM_RETRY_SECONDS = 10
const MINUTE_MS = 60_000

/** One weights file and the process that serves it, from cold to ready and back. */
export class Engine {
  readonly #options: EngineOptions
  readonly #parts: EngineParts
  readonly #admission: Admission
  readonly #jobs: Jobs
  readonly #approach: Approach
  readonly #tenure: Tenure
  /** What its requests were like. */
  readonly figures = new JobFigures()
  readonly #restarts = new Restarts()
  #state: ModelState = 'cold'
  #reason: string | undefined
  #process: EngineProcess | undefined
  #device: string | undefined
  /** How long the process took to load, the last time. */
  #loadMs: number | undefined
  /** From `start` to `stop`. */
  #life: AbortController | undefined
  readonly #retry: Retry
  #settled: (() => void)[] = []

  constructor(options: EngineOptions, parts: EngineParts) {
    this.#options = options
    this.#parts = parts
    this.#admission = new Admission(options.limits, parts.clock, ({ model }) =>
      this.#loading(model),
    )
    this.#jobs = new Jobs(this.#admission, this.figures, () => parts.clock.now())
    this.#retry = new Retry(parts.clock)
    this.#approach = new Approach(options, parts)
    this.#tenure = new Tenure({
      clock: parts.clock,
      limitMs: options.idleUnloadMinutes * MINUTE_MS,
      idleMs: () => this.#idleMs,
      onIdle: () => this.#unloadIdle(),
    })
  }

  get pid(): number | undefined {
    return this.#process?.pid
  }

  /** How full the batches of the current process were. */
  get counts(): StepCounts | undefined {
    return this.#process?.counts
  }

  /** What the process computed on when it was ready last. */
  get device(): string | undefined {
    return this.#device
  }

  /** Its weights have to be fetched first, as far as the catalogue tells. */
  get isRemote(): boolean {
    return this.#options.weights.url !== undefined
  }

  get pinned(): boolean {
    return this.#tenure.pinned
  }

  /** Engines of the same name want the same memory. */
  get name(): string {
    return `${this.#options.kind} ${this.#options.weights.file}`
  }

  /** The memory it has or was promised; undefined when it needs none. */
  get resident(): Omit<Resident, 'seenBytes'> | undefined {
    if (this.#process === undefined && !this.#approach.isPromised) return undefined
    return {
      name: this.name,
      needBytes: this.#approach.needBytes ?? 0,
      lastUsedAt: this.#admission.lastUsedAt,
      busy: this.#state !== 'ready' || !this.#admission.idle,
      pinned: this.pinned,
    }
  }

  report(): EngineReport {
    const { weights, kind, models } = this.#options
    const { progress, contextLength, needBytes } = this.#approach
    const idle = this.#state === 'ready' && this.#admission.idle
    return {
      weights: weights.label.slice(-256),
      kind,
      models: [...models],
      state: this.#state,
      slots: this.#admission.slots,
      slots_busy: this.#admission.busy,
      queued: this.#admission.queued,
      queue_limit: this.#admission.queueLimit,
      context_length: contextLength,
      restarts: this.#restarts.total,
      pinned: this.pinned,
      ...progress.report(),
      ...(idle && { idle_seconds: Math.floor(this.#idleMs / 1000) }),
      ...(needBytes !== undefined && { memory_bytes: needBytes }),
      ...(this.#reason !== undefined && { reason: this.#reason }),
    }
  }

  /** From now on requests are taken; the first one loads the model. */
  start(): void {
    this.#life ??= new AbortController()
  }

  /**
   * Resolves when the model is ready, has failed, or finds no room. One that is preloaded stays,
   * and takes only memory that is free.
   */
  load({ preload = false } = {}): Promise<void> {
    if (this.#life === undefined) return Promise.resolve()
    this.#tenure.preloaded ||= preload
    this.#watchIdle()
    if (this.#state === 'ready') return Promise.resolve()
    const settled = new Promise<void>(resolve => this.#settled.push(resolve))
    if (this.#state !== 'loading') void this.#load(this.#life.signal)
    return settled
  }

  /** A pinned model is not unloaded for others or for want of requests. */
  pin(pinned: boolean): void {
    if (this.pinned === pinned) return
    this.#tenure.pinned = pinned
    this.#watchIdle()
    this.#parts.onChange()
  }

  /** Ends the process, or the way to it. @throws ShoalError conflict while somebody needs it */
  unload(): void {
    const { busy, queued } = this.#admission
    if (busy + queued > 0)
      throw new ShoalError(
        'conflict',
        `${busy} requests run and ${queued} wait; drain the cell first`,
      )
    this.#cool()
  }

  /** Ends the process and refuses what waits, until `start`. */
  stop(): void {
    this.#life?.abort()
    this.#life = undefined
    this.#cool()
  }

  /** Finds out what a model that is not loaded would take; says nothing when it cannot. */
  survey(): Promise<void> {
    return this.#approach.survey()
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
    work: Work,
    bytes: number,
    listener: (event: EngineEvent) => void,
    how: Asked = {},
  ): () => void {
    if (this.#life === undefined) throw stopped()
    if (this.#state === 'failed') throw this.#unavailable()
    if (this.#state === 'cold') void this.load()
    const { remainingSeconds = 0 } = this.#approach.progress
    if (remainingSeconds > this.#options.limits.queueTimeoutSeconds) throw this.#loading(how.model)
    return this.#jobs.submit(work, bytes, listener, how)
  }

  async #load(life: AbortSignal): Promise<void> {
    const { leftovers } = this.#parts
    this.#retry.cancel()
    if (this.#state === 'failed' && leftovers.has(this.name)) return this.#waitForLeftover(life)
    const signal = this.#approach.begin(life)
    this.#approach.progress.begin('loading', this.#loadMs)
    this.#become('loading')
    try {
      if (leftovers.has(this.name) && !(await leftovers.none(this.name)))
        return signal.aborted ? undefined : this.#waitForLeftover(life)
      await this.#approach.run(this.name, !this.#tenure.preloaded, signal)
      if (signal.aborted) return
      this.#resize()
      this.#spawn(life, signal)
    } catch (error) {
      if (!signal.aborted) await this.#cannotLoad(error as Error, life, signal)
    }
  }

  /** As many slots as were measured to be best; the queue keeps its proportion. */
  #resize(): void {
    const { slots: asked, queue } = this.#options.limits
    const { slots } = this.#approach
    this.#admission.resize(slots, Math.ceil((queue * slots) / asked))
  }

  async #cannotLoad(error: Error, life: AbortSignal, signal: AbortSignal): Promise<void> {
    if (error instanceof NoRoom && error.ever) return this.#waitForRoom(error.message, life)
    if (isForGood(error)) return this.#refuseWeights(error.message, life, signal)
    this.#retry.later(RECHECK_MS, () => void this.#load(life))
    this.#fail(`${this.#options.weights.label}: ${error.message}`)
  }

  /** Not a failure: the next request asks again, and a pinned model asks by itself. */
  #waitForRoom(reason: string, life: AbortSignal): void {
    this.#tenure.preloaded = false
    this.#become('cold', reason)
    const retryAfterSeconds = NO_ROOM_RETRY_SECONDS
    this.#drop(new ShoalError('cell_unavailable', reason, { retryAfterSeconds }))
    if (this.pinned) this.#retry.later(RECHECK_MS, () => void this.#load(life))
  }

  #waitForLeftover(life: AbortSignal): void {
    this.#retry.later(LEFTOVER_MS, () => void this.#load(life))
    if (this.#reason !== LEFTOVER) this.#fail(LEFTOVER)
  }

  #spawn(life: AbortSignal, signal: AbortSignal): void {
    const { weights, kind, gpu } = this.#options
    const load = {
      type: 'load' as const,
      file: weights.file,
      kind,
      slots: this.#admission.slots,
      contextLength: this.#approach.contextLength,
      threads: this.#approach.threads,
      gpu,
    }
    this.#approach.progress.begin('loading', this.#loadMs)
    const started = new EngineProcess({ ...this.#options, load }, this.#parts, {
      onProgress: percent => this.#approach.progress.at(percent),
      onReady: reply => this.#ready(reply),
      onRefused: ({ reason }) => void this.#refuseWeights(reason, life, signal),
      onStep: ({ events }) => this.#jobs.handle(events),
      onEnd: why => this.#crashed(why, life),
      onGone: this.#parts.leftovers.add(this.name),
    })
    this.#process = started
    this.#jobs.attach(started)
  }

  #ready({ device, loadMs }: ReadyReply): void {
    const { label } = this.#options.weights
    this.#parts.logger.info({ weights: label, device, load_ms: loadMs }, 'engine ready')
    this.#device = device
    this.#loadMs = loadMs
    this.#admission.open()
    this.#become('ready')
    this.#watchIdle()
  }

  get #idleMs(): number {
    return this.#admission.idle ? this.#parts.clock.now() - this.#admission.lastUsedAt : 0
  }

  #watchIdle(): void {
    if (this.#state === 'ready') this.#tenure.watch()
  }

  #unloadIdle(): void {
    const { label } = this.#options.weights
    this.#parts.logger.info({ weights: label }, 'engine unloaded: nobody has used it')
    this.#cool()
  }

  /** Frees everything. */
  #cool(): void {
    this.#approach.end()
    this.#retry.cancel()
    this.#tenure.end()
    this.#tenure.preloaded = false
    this.#process?.stop()
    this.#process = undefined
    this.#drop(stopped())
    this.#become('cold')
  }

  /** Starting again would not help before somebody has replaced the file. */
  async #refuseWeights(reason: string, life: AbortSignal, signal: AbortSignal): Promise<void> {
    const { label, file } = this.#options.weights
    const stamp = await fileStamp(file)
    if (signal.aborted) return
    this.#retry.whenReplaced(file, stamp, RECHECK_MS, () => void this.#load(life))
    this.#fail(`${label}: ${reason}`)
  }

  #crashed(why: string, life: AbortSignal): void {
    const { waitMs, open } = this.#restarts.crashed(this.#parts.clock.now())
    const seconds = Math.ceil(waitMs / 1000)
    const next = open ? 'crashed too often and rests for' : 'starts again in'
    this.#retry.later(waitMs, () => void this.#load(life))
    this.#fail(`the engine ${why}; it ${next} ${seconds} s`)
  }

  /** What comes next is planned already. */
  #fail(reason: string): void {
    this.#process = undefined
    this.#tenure.end()
    this.#parts.logger.error({ weights: this.#options.weights.label, reason }, 'engine failed')
    this.#become('failed', reason)
    this.#drop(this.#unavailable())
  }

  #drop(error: ShoalError): void {
    this.#admission.close()
    this.#jobs.drop(error)
    this.#admission.refuseAll(error)
  }

  #unavailable(): ShoalError {
    return new ShoalError('cell_unavailable', this.#reason ?? 'the engine is away', {
      retryAfterSeconds: this.#retry.seconds,
    })
  }

  #loading(model = this.#options.models[0]): ShoalError {
    const { text, retryAfterSeconds } = this.#approach.progress
    return new ShoalError('cell_unavailable', `${model} is ${text}`, { retryAfterSeconds })
  }

  #become(state: ModelState, reason?: string): void {
    this.#state = state
    this.#reason = reason?.slice(0, MAX_REASON_LENGTH)
    if (state !== 'loading') {
      this.#approach.settle()
      for (const settle of this.#settled.splice(0)) settle()
    }
    this.#parts.onChange()
  }
}

/** Only other weights would help. Everything else, such as a disk that fails, may pass. */
const isForGood = (error: Error): boolean =>
  error instanceof GgufError ||
  error instanceof NoRoom ||
  (error instanceof DownloadError && error.again === 'never')

const stopped = (): ShoalError =>
  new ShoalError('draining', 'the cell does not serve now', { retryAfterSeconds: 1 })
