import { ShoalError } from '../../shared/errors.ts'
import type { ModelState } from '../../shared/wire/telemetry.ts'
import type { SlotAdmission } from './admission.ts'
import { Approach } from './approach.ts'
import { DownloadError } from './downloads/download-error.ts'
import type { EngineOptions, EngineParts } from './engine-options.ts'
import { EngineProcess } from './engine-process.ts'
import { GgufError } from './gguf-reader.ts'
import type { Jobs } from './jobs.ts'
import { NoRoom } from './memory/no-room.ts'
import type { ReadyReply } from './protocol.ts'
import { Restarts } from './restarts.ts'
import { Retry } from './retry.ts'
import { Tenure } from './tenure.ts'
import { fileStamp } from './weights.ts'

/** Interval at which failed weights are checked for a replacement. */
const RECHECK_MS = 60_000
export const MAX_REASON_LENGTH = 500

/** A process that cannot be killed is looked for this often. */
const LEFTOVER_MS = 5000
const LEFTOVER = 'the previous process cannot be ended; the next one starts when it is gone'
const RESTING =
  'it crashed too often and rests for up to ten minutes; unload the model or restart shoald to end the rest'

/** Retry delay after which another user of the memory may have ended. */
const NO_ROOM_RETRY_SECONDS = 10
const MINUTE_MS = 60_000

/** Life cycle of an engine: cold, loading, ready, and the retries after a failure. */
export class EngineLife {
  /** Engines of the same name want the same memory. */
  readonly name: string
  /** Catalogue ids that it serves. */
  models: readonly string[]
  readonly approach: Approach
  readonly restarts = new Restarts()
  readonly #options: EngineOptions
  readonly #parts: EngineParts
  readonly #admission: SlotAdmission
  readonly #jobs: Jobs
  readonly #tenure: Tenure
  readonly #retry: Retry
  #state: ModelState = 'cold'
  #reason: string | undefined
  #isRefused = false
  #process: EngineProcess | undefined
  #device: string | undefined
  #readyAt: number | undefined
  /** Duration of the last load, in milliseconds. */
  #loadMs: number | undefined
  /** Life of the engine, aborted by `stop`; undefined before `start`. */
  #life: AbortController | undefined
  #settled: (() => void)[] = []
  #pulling: { done: Promise<void>; abort: AbortController } | undefined
  /** Takes up what was stopped by a download that is not allowed now; undefined without one. */
  #resume: (() => void) | undefined

  constructor(options: EngineOptions, parts: EngineParts, admission: SlotAdmission, jobs: Jobs) {
    this.name = `${options.kind} ${options.weights.file}`
    this.models = options.models
    this.#options = options
    this.#parts = parts
    this.#admission = admission
    this.#jobs = jobs
    this.#retry = new Retry(parts.clock)
    this.approach = new Approach(options, parts)
    this.#tenure = new Tenure({
      clock: parts.clock,
      limitMs: options.idleUnloadMinutes * MINUTE_MS,
      idleMs: () => this.idleMs,
      onIdle: () => this.#unloadIdle(),
    })
  }

  get state(): ModelState {
    return this.#state
  }

  /** Explanation of the current state, where one is needed. */
  get reason(): string | undefined {
    return this.#reason
  }

  /** True after a failure for which the weights are the reason. */
  get isRefused(): boolean {
    return this.#isRefused
  }

  get process(): EngineProcess | undefined {
    return this.#process
  }

  /** Device on which the process computed when it was last ready. */
  get device(): string | undefined {
    return this.#device
  }

  /** Time of the last change to ready, by the clock. */
  get readyAt(): number | undefined {
    return this.#readyAt
  }

  get started(): boolean {
    return this.#life !== undefined
  }

  /** Time since the engine was last needed; 0 while it is needed. */
  get idleMs(): number {
    return this.#admission.idle ? this.#parts.clock.now() - this.#admission.lastUsedAt : 0
  }

  get pinned(): boolean {
    return this.#tenure.pinned
  }

  start(): void {
    this.#life ??= new AbortController()
  }

  load(preload: boolean): Promise<void> {
    if (this.#life === undefined) return Promise.resolve()
    this.#tenure.preloaded ||= preload
    this.#watchIdle()
    if (this.#state === 'ready') return Promise.resolve()
    const settled = new Promise<void>(resolve => this.#settled.push(resolve))
    if (this.#state !== 'loading') void this.#load(this.#life.signal)
    return settled
  }

  /**
   * Downloads and checks the weights without loading them. Resolves when that has ended; a failure
   * is the reason of the state. A load that is under way does the same.
   */
  pull(): Promise<void> {
    if (this.#life === undefined || this.#state === 'ready') return Promise.resolve()
    if (this.#state === 'loading') return this.load(false)
    if (this.#pulling !== undefined) return this.#pulling.done
    const abort = new AbortController()
    const done = this.#pull(AbortSignal.any([this.#life.signal, abort.signal])).finally(() => {
      if (this.#pulling?.abort === abort) this.#pulling = undefined
    })
    this.#pulling = { done, abort }
    return done
  }

  async #pull(signal: AbortSignal): Promise<void> {
    let reason: string | undefined
    let isStopped = false
    try {
      await this.approach.pull(signal)
    } catch (error) {
      isStopped = isNotAllowed(error)
      reason = `${this.#options.weights.label}: ${(error as Error).message}`
    }
    // a load that began meanwhile has a progress and an outcome of its own
    if (signal.aborted || this.#state === 'loading' || this.#state === 'ready') return
    if (reason === undefined && this.#state === 'failed' && this.#life !== undefined)
      return void this.#load(this.#life.signal)
    this.#become(this.#state, reason)
    if (isStopped) this.#resume = () => void this.pull()
  }

  /** Goes on with a download that was stopped, from where it stood. */
  resumeDownload(): void {
    this.#resume?.()
  }

  pin(pinned: boolean): void {
    if (this.pinned === pinned) return
    this.#tenure.pinned = pinned
    this.#watchIdle()
    this.#parts.onChange()
  }

  stop(): void {
    this.#life?.abort()
    this.#life = undefined
    this.cool()
  }

  /** Frees everything. */
  cool(): void {
    this.approach.end()
    this.#pulling?.abort.abort()
    this.#pulling = undefined
    this.#retry.cancel()
    this.#tenure.end()
    this.#tenure.preloaded = false
    this.#process?.stop()
    this.#process = undefined
    this.#drop(createStoppedError())
    this.#become('cold')
  }

  /** Error for requests while the engine has failed. */
  unavailable(): ShoalError {
    return new ShoalError('cell_unavailable', this.#reason ?? 'the engine is not running', {
      retryAfterSeconds: this.#retry.seconds,
    })
  }

  async #load(life: AbortSignal): Promise<void> {
    const { leftovers } = this.#parts
    this.#retry.cancel()
    if (this.#state === 'failed' && leftovers.has(this.name)) return this.#waitForLeftover(life)
    const signal = this.approach.begin(life)
    this.approach.progress.begin('loading', this.#loadMs)
    this.#become('loading')
    try {
      if (leftovers.has(this.name) && !(await leftovers.waitForNone(this.name)))
        return signal.aborted ? undefined : this.#waitForLeftover(life)
      await this.approach.run(this.name, !this.#tenure.preloaded, signal)
      if (signal.aborted) return
      this.#resize()
      this.#spawn(life, signal)
    } catch (error) {
      if (!signal.aborted) await this.#cannotLoad(error as Error, life, signal)
    }
  }

  /** Adopts the measured number of slots; the queue keeps its proportion. */
  #resize(): void {
    const { slots: asked, queue } = this.#options.limits
    const { slots } = this.approach
    this.#admission.resize(slots, Math.ceil((queue * slots) / asked))
  }

  async #cannotLoad(error: Error, life: AbortSignal, signal: AbortSignal): Promise<void> {
    if (isNotAllowed(error)) return this.#waitForDownloads(error.message)
    if (error instanceof NoRoom && error.ever) return this.#waitForRoom(error.message, life)
    if (isForGood(error)) return this.#refuseWeights(error.message, life, signal)
    this.#retry.later(RECHECK_MS, () => void this.#load(life))
    this.#fail(`${this.#options.weights.label}: ${error.message}`, true)
  }

  /** Waits for memory. This is not a failure: the next request, or the pin, tries again. */
  #waitForRoom(reason: string, life: AbortSignal): void {
    this.#tenure.preloaded = false
    this.#become('cold', reason)
    const retryAfterSeconds = NO_ROOM_RETRY_SECONDS
    this.#drop(new ShoalError('cell_unavailable', reason, { retryAfterSeconds }))
    if (this.pinned) this.#retry.later(RECHECK_MS, () => void this.#load(life))
  }

  /** Waits until downloads are allowed again, which is not a failure either. */
  #waitForDownloads(why: string): void {
    const { preloaded } = this.#tenure
    const reason = `${this.#options.weights.label}: ${why}`
    this.#tenure.preloaded = false
    this.#become('cold', reason)
    this.#resume = () => void this.load(preloaded)
    const retryAfterSeconds = RECHECK_MS / 1000
    this.#drop(new ShoalError('cell_unavailable', reason, { retryAfterSeconds }))
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
      contextLength: this.approach.contextLength,
      threads: this.approach.threads,
      gpu,
    }
    this.approach.progress.begin('loading', this.#loadMs)
    const started = new EngineProcess({ ...this.#options, load }, this.#parts, {
      onProgress: percent => this.approach.progress.setPercent(percent),
      onReady: reply => this.#ready(reply),
      onRefused: ({ reason }) => void this.#refuseWeights(reason, life, signal),
      onStep: ({ events }) => this.#jobs.handle(events),
      onEnd: why => this.#onCrash(why, life),
      onGone: this.#parts.leftovers.add(this.name),
    })
    this.#process = started
    this.#jobs.attach(started)
  }

  #ready({ device, loadMs }: ReadyReply): void {
    const { label } = this.#options.weights
    const { models } = this
    this.#parts.logger.info({ weights: label, models, device, load_ms: loadMs }, 'engine ready')
    this.#device = device
    this.#loadMs = loadMs
    this.#readyAt = this.#parts.clock.now()
    this.#admission.open()
    this.#become('ready')
    this.#watchIdle()
  }

  #watchIdle(): void {
    if (this.#state === 'ready') this.#tenure.watch()
  }

  #unloadIdle(): void {
    const { label } = this.#options.weights
    this.#parts.logger.info({ weights: label }, 'engine unloaded after being idle')
    this.cool()
  }

  /** Waits for a replacement of the file, as a restart would not help before. */
  async #refuseWeights(reason: string, life: AbortSignal, signal: AbortSignal): Promise<void> {
    const { label, file } = this.#options.weights
    const stamp = await fileStamp(file)
    if (signal.aborted) return
    this.#retry.onReplaced(file, stamp, RECHECK_MS, () => void this.#load(life))
    this.#fail(`${label}: ${reason}`, true)
  }

  /** The reason outlives the pause in alerts and logs, so it has no countdown. */
  #onCrash(why: string, life: AbortSignal): void {
    const { waitMs, open } = this.restarts.planAfterCrash(this.#parts.clock.now())
    this.#retry.later(waitMs, () => void this.#load(life))
    this.#fail(`the engine ${why}; ${open ? RESTING : 'it restarts automatically'}`)
  }

  /** Records a failure; the next step is already planned. */
  #fail(reason: string, isRefused = false): void {
    this.#process = undefined
    this.#tenure.end()
    const { models } = this
    this.#parts.logger.error(
      { weights: this.#options.weights.label, models, reason },
      'engine failed',
    )
    this.#become('failed', reason, isRefused)
    this.#drop(this.unavailable())
  }

  #drop(error: ShoalError): void {
    this.#admission.close()
    this.#jobs.drop(error)
    this.#admission.refuseAll(error)
  }

  #become(state: ModelState, reason?: string, isRefused = false): void {
    this.#resume = undefined
    this.#isRefused = isRefused
    this.#state = state
    this.#reason = reason?.slice(0, MAX_REASON_LENGTH)
    if (state !== 'loading') {
      this.approach.settle()
      for (const settle of this.#settled.splice(0)) settle()
    }
    this.#parts.onChange()
  }
}

/** True when only other weights would help; other errors, such as a failing disk, may pass. */
const isForGood = (error: Error): boolean =>
  error instanceof GgufError ||
  error instanceof NoRoom ||
  (error instanceof DownloadError && error.again === 'never')

/** True for a download that the coordinator does not allow now. */
const isNotAllowed = (error: unknown): boolean =>
  error instanceof DownloadError && error.again === 'allowed'

/** Error for requests while the engine is stopped. */
export const createStoppedError = (): ShoalError =>
  new ShoalError('draining', 'the cell is not serving now', { retryAfterSeconds: 1 })
