import type { AnswerEvent } from '../../shared/wire/answer-events.ts'
import { type Clock, systemClock } from '../inference/clock.ts'
import type { SpawnHelper } from './helper-child.ts'
import { HelperFailure } from './helper-failure.ts'
import { HelperProcess } from './helper-process.ts'
import { type HelperCall, HelperJob } from './job.ts'
import type { ParsedFrame } from './parse-frame.ts'

export interface HelperOptions {
  spawn: SpawnHelper
  clock?: Clock
  /** Idle time after which the process is ended, in seconds. */
  idleSeconds?: number
  /** Grace period of a cancelled call, in seconds; its process is replaced afterwards. */
  cancelSeconds?: number
}

const MAX_RUNNING = 4
/** Long calls that run at once; the rest of the places is for short ones. */
const MAX_LONG = 2
const MAX_WAITING = 32
/** Longest time that a call waits in the queue, in milliseconds. */
const MAX_WAIT_MS = 15_000
const IDLE_SECONDS = 30
const CANCEL_SECONDS = 2

/**
 * Runs foreign code of one class that may block, hang or crash in a separate process. The process
 * starts with the first call and ends after an idle period. A call that exceeds its deadline, or
 * whose reader leaves, is cancelled; if it does not react, the process is replaced, and calls that
 * have sent nothing yet are repeated one at a time.
 */
export class Helper {
  readonly #spawn: SpawnHelper
  readonly #clock: Clock
  readonly #idleMs: number
  readonly #cancelMs: number
  readonly #waiting: HelperJob[] = []
  readonly #running = new Map<number, HelperJob>()
  /** Cancelled calls that the process still works on. */
  readonly #leaving = new Map<number, HelperJob>()
  #process: HelperProcess | undefined
  #isStopped = false
  #nextId = 0
  #stopIdleTimer = (): void => {}

  constructor(options: HelperOptions) {
    this.#spawn = options.spawn
    this.#clock = options.clock ?? systemClock
    this.#idleMs = (options.idleSeconds ?? IDLE_SECONDS) * 1000
    this.#cancelMs = (options.cancelSeconds ?? CANCEL_SECONDS) * 1000
  }

  /** Process id; undefined while no process runs. */
  get pid(): number | undefined {
    return this.#process?.pid
  }

  /**
   * Calls a function that returns one value.
   * @throws HelperFailure
   */
  async call(call: HelperCall, signal?: AbortSignal): Promise<unknown> {
    let value: unknown = null
    for await (const event of this.stream(call, signal))
      if (event.type === 'item') value = event.value
    return value
  }

  /**
   * Streams the items of a function. The call starts with the first read, applies backpressure, and
   * is cancelled when the reader leaves or the signal aborts.
   * @throws HelperFailure
   */
  async *stream(call: HelperCall, signal?: AbortSignal): AsyncGenerator<AnswerEvent, void, void> {
    const job = this.#enter(call)
    const abort = (): void => {
      job.end(new HelperFailure('cancelled', 'it was cancelled'))
      this.#leave(job)
    }
    signal?.addEventListener('abort', abort)
    if (signal?.aborted) abort()
    this.#pump()
    try {
      yield* job.events()
    } finally {
      signal?.removeEventListener('abort', abort)
      job.end()
      this.#leave(job)
    }
  }

  /** Ends the process and every call; later calls are refused. */
  stop(): void {
    this.#isStopped = true
    for (const job of [...this.#running.values(), ...this.#waiting, ...this.#leaving.values()]) {
      job.stopTimer()
      job.end(createStopped())
    }
    this.#running.clear()
    this.#leaving.clear()
    this.#waiting.length = 0
    this.#endProcess()
  }

  #enter(call: HelperCall): HelperJob {
    if (this.#isStopped) throw createStopped()
    if (this.#waiting.length >= MAX_WAITING)
      throw new HelperFailure('busy', `${MAX_WAITING} calls are waiting for the helper`)
    const id = this.#nextId++
    const job = new HelperJob(id, call, bytes => this.#process?.send({ type: 'credit', id, bytes }))
    this.#waiting.push(job)
    this.#limitWait(job)
    return job
  }

  #limitWait(job: HelperJob): void {
    job.stopTimer = this.#clock.callAfter(MAX_WAIT_MS, () => {
      job.end(new HelperFailure('busy', `it did not start within ${MAX_WAIT_MS / 1000} s`))
      this.#leave(job)
    })
  }

  #pump(): void {
    if (this.#process === undefined) {
      if (this.#waiting.length > 0) this.#start()
      return
    }
    if (!this.#process.isReady) return
    for (let job = this.#takeNext(); job !== undefined; job = this.#takeNext()) this.#run(job)
    if (this.#running.size + this.#leaving.size > 0) return
    this.#stopIdleTimer()
    this.#stopIdleTimer = this.#clock.callAfter(this.#idleMs, () => this.#endProcess())
  }

  /** Takes the next call that may run now out of the queue; a short one passes long ones that wait. */
  #takeNext(): HelperJob | undefined {
    const running = [...this.#running.values(), ...this.#leaving.values()]
    if (running.length >= MAX_RUNNING || running.some(({ isAlone }) => isAlone)) return undefined
    const isLongFull = running.filter(({ call }) => call.isLong).length >= MAX_LONG
    const at = this.#waiting.findIndex(({ call }) => !(isLongFull && call.isLong))
    if (this.#waiting[at]?.isAlone && running.length > 0) return undefined
    return at === -1 ? undefined : this.#waiting.splice(at, 1)[0]
  }

  #run(job: HelperJob): void {
    const { deadlineSeconds, module, function: name, input } = job.call
    this.#stopIdleTimer()
    job.stopTimer()
    this.#running.set(job.id, job)
    job.stopTimer = this.#clock.callAfter(deadlineSeconds * 1000, () => {
      job.end(new HelperFailure('hung', `it did not finish within ${deadlineSeconds} s`))
      this.#leave(job)
    })
    this.#process?.send({ type: 'call', id: job.id, module, function: name, input })
  }

  /** Removes a waiting call from the queue, or cancels a running one. */
  #leave(job: HelperJob): void {
    const at = this.#waiting.indexOf(job)
    if (at !== -1) this.#waiting.splice(at, 1)
    const wasRunning = this.#running.delete(job.id)
    if (at !== -1 || wasRunning) job.stopTimer()
    if (!wasRunning) return
    this.#leaving.set(job.id, job)
    job.stopTimer = this.#clock.callAfter(this.#cancelMs, () => this.#replace('a call hung'))
    this.#process?.send({ type: 'cancel', id: job.id })
  }

  /**
   * Replaces the process, which ends all that it does: a call that ignores cancellation, or sends
   * too much, cannot be ended alone.
   */
  #replace(why: string): void {
    this.#endProcess()
    this.#handleLoss(`was killed because ${why}`, true)
  }

  #start(): void {
    try {
      const process = new HelperProcess(this.#spawn, this.#clock, {
        onReady: () => this.#pump(),
        onFrame: frame => this.#take(frame),
        onLost: how => {
          this.#process = undefined
          this.#handleLoss(how, process.isReady)
        },
      })
      this.#process = process
    } catch (error) {
      // spawning throws synchronously when the machine is out of memory
      this.#handleLoss(`could not be started: ${(error as Error).message}`, false)
    }
  }

  #take(frame: Exclude<ParsedFrame, { type: 'ready' }>): void {
    const job = this.#running.get(frame.id)
    if (frame.type === 'item') {
      job?.add(frame)
      if (job?.isOverrun) this.#replace('a call sent more than its reader allowed')
    } else if (frame.type === 'progress') job?.report(frame.progress)
    else {
      if (frame.type === 'error') job?.end(new HelperFailure(frame.kind, frame.reason))
      else job?.end()
      this.#finish(frame.id)
    }
  }

  /** Forgets a call that the process no longer works on. */
  #finish(id: number): void {
    for (const jobs of [this.#running, this.#leaving]) {
      jobs.get(id)?.stopTimer()
      jobs.delete(id)
    }
    this.#pump()
  }

  /**
   * Handles the loss of the process. A process that never became ready would fail again, so that
   * its calls are not repeated.
   */
  #handleLoss(how: string, wasReady: boolean): void {
    const running = [...this.#running.values()]
    const jobs = wasReady ? running : this.#waiting.splice(0)
    for (const job of [...jobs, ...this.#leaving.values()]) job.stopTimer()
    this.#running.clear()
    this.#leaving.clear()
    this.#stopIdleTimer()
    const again = wasReady ? jobs.filter(job => job.canRepeat) : []
    for (const job of jobs)
      if (!again.includes(job)) job.end(new HelperFailure('died', `the helper ${how}`))
    for (const job of again) {
      job.isAlone = true
      this.#limitWait(job)
    }
    this.#waiting.unshift(...again)
    this.#pump()
  }

  #endProcess(): void {
    this.#stopIdleTimer()
    this.#process?.end()
    this.#process = undefined
  }
}

const createStopped = (): HelperFailure => new HelperFailure('stopped', 'the daemon is stopping')
