import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import type { EngineReport, ModelState } from '../../shared/wire/telemetry.ts'
import { Admission, type AdmissionLimits } from './admission.ts'
import type { Clock } from './clock.ts'
import type { SpawnEngine } from './engine-child.ts'
import { EngineProcess } from './engine-process.ts'
import { type EngineEvent, Jobs, type Work } from './jobs.ts'
import type { Leftovers } from './leftovers.ts'
import type { ReadyReply, StepCounts } from './protocol.ts'
import { Restarts } from './restarts.ts'
import { checkWeights, fileStamp, type Weights } from './weights.ts'

export interface EngineOptions {
  weights: Weights
  kind: 'chat' | 'embedding'
  /** Catalogue ids. */
  models: readonly string[]
  /** The most that any of the models promises; the weights may allow less. */
  contextLength: number
  limits: AdmissionLimits
  threads: number
  gpu: 'auto' | 'off'
  loadTimeoutSeconds: number
  watchdogSeconds: number
}

export interface EngineParts {
  clock: Clock
  spawn: SpawnEngine
  logger: Logger
  leftovers: Leftovers
  /** Called after each change of the state. */
  onChange: () => void
}

/** Weights that failed are looked at again this often, in case somebody has replaced them. */
const RECHECK_MS = 60_000
const MAX_REASON_LENGTH = 500

/** A process that cannot be killed is looked for this often. */
const LEFTOVER_MS = 5000
const LEFTOVER = 'the process before cannot be ended; another starts when it is gone'

/** One weights file and the process that serves it, from cold to ready and back after a crash. */
export class Engine {
  readonly #options: EngineOptions
  readonly #parts: EngineParts
  readonly #admission: Admission
  readonly #jobs: Jobs
  readonly #restarts = new Restarts()
  #state: ModelState = 'cold'
  #reason: string | undefined
  #contextLength: number
  #process: EngineProcess | undefined
  /** From `start` to `stop`. */
  #life: AbortController | undefined
  #retryAt = 0
  #callOff = (): void => {}
  #settled: (() => void)[] = []

  constructor(options: EngineOptions, parts: EngineParts) {
    this.#options = options
    this.#parts = parts
    this.#contextLength = options.contextLength
    this.#admission = new Admission(options.limits, parts.clock)
    this.#jobs = new Jobs(this.#admission)
  }

  get pid(): number | undefined {
    return this.#process?.pid
  }

  /** How full the batches of the current process were. */
  get counts(): StepCounts | undefined {
    return this.#process?.counts
  }

  report(): EngineReport {
    const { weights, kind, models, limits } = this.#options
    return {
      weights: weights.label.slice(-256),
      kind,
      models: [...models],
      state: this.#state,
      slots: limits.slots,
      slots_busy: this.#admission.busy,
      queued: this.#admission.queued,
      queue_limit: limits.queue,
      context_length: this.#contextLength,
      restarts: this.#restarts.total,
      ...(this.#reason !== undefined && { reason: this.#reason }),
    }
  }

  /** From now on requests are taken; the first one loads the model. */
  start(): void {
    this.#life ??= new AbortController()
  }

  /** Resolves when the model is ready or has failed. */
  load(): Promise<void> {
    if (this.#life === undefined || this.#state === 'ready') return Promise.resolve()
    const settled = new Promise<void>(resolve => this.#settled.push(resolve))
    if (this.#state !== 'loading') void this.#load(this.#life.signal)
    return settled
  }

  /** Ends the process and refuses what waits, until `start`. */
  stop(): void {
    this.#life?.abort()
    this.#life = undefined
    this.#callOff()
    this.#process?.stop()
    this.#process = undefined
    this.#drop(stopped())
    this.#become('cold')
  }

  /**
   * Runs the work as soon as a slot is free. The answer cancels it, in any phase; after that the
   * listener hears nothing more.
   *
   * @throws ShoalError cell_unavailable when the engine has failed or its queue is full, draining
   * when it is stopped
   */
  submit(work: Work, bytes: number, listener: (event: EngineEvent) => void): () => void {
    if (this.#life === undefined) throw stopped()
    if (this.#state === 'failed') throw this.#unavailable()
    if (this.#state === 'cold') void this.#load(this.#life.signal)
    return this.#jobs.submit(work, bytes, listener)
  }

  async #load(life: AbortSignal): Promise<void> {
    const { weights, kind } = this.#options
    const { leftovers } = this.#parts
    if (this.#state === 'failed' && leftovers.has(this.#name)) return this.#remainFailed(life)
    this.#become('loading')
    if (leftovers.has(this.#name) && !(await leftovers.none(this.#name)))
      return life.aborted ? undefined : this.#fail(LEFTOVER, LEFTOVER_MS, () => this.#load(life))
    try {
      const facts = await checkWeights(weights, kind, life)
      if (life.aborted) return
      this.#contextLength = Math.min(this.#options.contextLength, facts.contextLength)
      this.#spawn(life)
    } catch (error) {
      if (!life.aborted) await this.#refuseWeights((error as Error).message, life)
    }
  }

  #remainFailed(life: AbortSignal): void {
    this.#retry(LEFTOVER_MS, () => this.#load(life))
    if (this.#reason !== LEFTOVER) this.#become('failed', LEFTOVER)
  }

  /** Engines of the same name want the same memory. */
  get #name(): string {
    return `${this.#options.kind} ${this.#options.weights.file}`
  }

  #spawn(life: AbortSignal): void {
    const { weights, kind, limits, threads, gpu } = this.#options
    const load = {
      type: 'load' as const,
      file: weights.file,
      kind,
      slots: limits.slots,
      contextLength: this.#contextLength,
      threads,
      gpu,
    }
    const started = new EngineProcess({ ...this.#options, load }, this.#parts, {
      onReady: reply => this.#ready(reply),
      onRefused: ({ reason }) => void this.#refuseWeights(reason, life),
      onStep: ({ events }) => this.#jobs.handle(events),
      onEnd: why => this.#crashed(why, life),
      onGone: this.#parts.leftovers.add(this.#name),
    })
    this.#process = started
    this.#jobs.attach(started)
  }

  #ready({ device, loadMs }: ReadyReply): void {
    const { label } = this.#options.weights
    this.#parts.logger.info({ weights: label, device, load_ms: loadMs }, 'engine ready')
    this.#become('ready')
    this.#admission.open()
  }

  /** Starting again would not help before somebody has replaced the file. */
  async #refuseWeights(reason: string, life: AbortSignal): Promise<void> {
    const { label, file } = this.#options.weights
    const stamp = await fileStamp(file)
    if (!life.aborted)
      this.#fail(`${label}: ${reason}`, RECHECK_MS, () => this.#recheck(stamp, life))
  }

  async #recheck(stamp: string, life: AbortSignal): Promise<void> {
    const changed = (await fileStamp(this.#options.weights.file)) !== stamp
    if (life.aborted) return
    if (changed) await this.#load(life)
    else this.#retry(RECHECK_MS, () => this.#recheck(stamp, life))
  }

  #crashed(why: string, life: AbortSignal): void {
    const { waitMs, open } = this.#restarts.crashed(this.#parts.clock.now())
    const seconds = Math.ceil(waitMs / 1000)
    const next = open ? 'crashed too often and rests for' : 'starts again in'
    this.#fail(`the engine ${why}; it ${next} ${seconds} s`, waitMs, () => this.#load(life))
  }

  #fail(reason: string, waitMs: number, retry: () => Promise<void>): void {
    this.#process = undefined
    this.#parts.logger.error({ weights: this.#options.weights.label, reason }, 'engine failed')
    this.#retry(waitMs, retry)
    this.#become('failed', reason)
    this.#drop(this.#unavailable())
  }

  #retry(waitMs: number, retry: () => Promise<void>): void {
    this.#retryAt = this.#parts.clock.now() + waitMs
    this.#callOff = this.#parts.clock.after(waitMs, () => void retry())
  }

  #drop(error: ShoalError): void {
    this.#admission.close()
    this.#jobs.drop(error)
    this.#admission.refuseAll(error)
  }

  #unavailable(): ShoalError {
    const waitMs = this.#retryAt - this.#parts.clock.now()
    return new ShoalError('cell_unavailable', this.#reason ?? 'the engine is away', {
      retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
    })
  }

  #become(state: ModelState, reason?: string): void {
    this.#state = state
    this.#reason = reason?.slice(0, MAX_REASON_LENGTH)
    if (state !== 'loading') for (const settle of this.#settled.splice(0)) settle()
    this.#parts.onChange()
  }
}

const stopped = (): ShoalError =>
  new ShoalError('draining', 'the cell does not serve now', { retryAfterSeconds: 1 })
