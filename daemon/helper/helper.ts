import type { AnswerEvent } from '../../shared/wire/answer-events.ts'
import { type Clock, systemClock } from '../inference/clock.ts'
import type { SpawnHelper } from './helper-child.ts'
import { HelperFailure } from './helper-failure.ts'
import { HelperProcess } from './helper-process.ts'
import { type HelperCall, Job } from './job.ts'
import type { Frame } from './protocol.ts'

export interface HelperOptions {
  spawn: SpawnHelper
  clock?: Clock
  /** Seconds without a call after which the process is ended. */
  idleSeconds?: number
  /** Seconds for a cancelled call to end by itself; its process is replaced then. */
  cancelSeconds?: number
}

const MAX_RUNNING = 4
const MAX_WAITING = 32
/** Longest time that a call waits for its turn. */
const MAX_WAIT_MS = 15_000
const IDLE_SECONDS = 30
const CANCEL_SECONDS = 2

/**
 * The process of one class for foreign code that may block, hang or crash. It is started by the
 * first call and ended after a while without one. A call that does not end in time, or that its
 * reader leaves, is cancelled; if it does not react, the process is replaced, and the calls that
 * have sent nothing yet are repeated, each alone.
 */
export class Helper {
  readonly #spawn: SpawnHelper
  readonly #clock: Clock
  readonly #idleMs: number
  readonly #cancelMs: number
  readonly #waiting: Job[] = []
  readonly #running = new Map<number, Job>()
  /** Calls that were cancelled and that the process still works on. */
  readonly #leaving = new Map<number, Job>()
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

  /** Of the process, while there is one. */
  get pid(): number | undefined {
    return this.#process?.pid
  }

  /**
   * The answer of a function that returns one value.
   *
   * @throws HelperFailure
   */
  async call(call: HelperCall, signal?: AbortSignal): Promise<unknown> {
    let value: unknown = null
    for await (const event of this.stream(call, signal))
      if (event.type === 'item') value = event.value
    return value
  }

  /**
   * The items of a function as they come. The call begins with the first read, waits while its
   * reader does, and is cancelled when the reader leaves or the signal aborts.
   *
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

  /** Ends the process and every call; no other is taken. */
  stop(): void {
    this.#isStopped = true
    for (const job of [...this.#running.values(), ...this.#waiting, ...this.#leaving.values()]) {
      job.stopTimer()
      job.end(stopped())
    }
    this.#running.clear()
    this.#leaving.clear()
    this.#waiting.length = 0
    this.#endProcess()
  }

  #enter(call: HelperCall): Job {
    if (this.#isStopped) throw stopped()
    if (this.#waiting.length >= MAX_WAITING)
      throw new HelperFailure('busy', `${MAX_WAITING} calls wait for the helper`)
    const id = this.#nextId++
    const job = new Job(id, call, bytes => this.#process?.send({ type: 'credit', id, bytes }))
    this.#waiting.push(job)
    this.#limitWait(job)
    return job
  }

  #limitWait(job: Job): void {
    job.stopTimer = this.#clock.callAfter(MAX_WAIT_MS, () => {
      job.end(new HelperFailure('busy', `its turn did not come within ${MAX_WAIT_MS / 1000} s`))
      this.#leave(job)
    })
  }

  #pump(): void {
    if (this.#process === undefined) {
      if (this.#waiting.length > 0) this.#start()
      return
    }
    if (!this.#process.isReady) return
    for (let job = this.#next(); job !== undefined; job = this.#next()) this.#run(job)
    if (this.#running.size + this.#leaving.size > 0) return
    this.#stopIdleTimer()
    this.#stopIdleTimer = this.#clock.callAfter(this.#idleMs, () => this.#endProcess())
  }

  /** Takes the next call out of the line, if it may run now. */
  #next(): Job | undefined {
    const running = [...this.#running.values(), ...this.#leaving.values()]
    const [first] = this.#waiting
    const isFull = running.length >= MAX_RUNNING || running.some(({ isAlone }) => isAlone)
    if (first === undefined || isFull || (first.isAlone && running.length > 0)) return undefined
    return this.#waiting.shift()
  }

  #run(job: Job): void {
    const { deadlineSeconds, module, function: name, input } = job.call
    this.#stopIdleTimer()
    job.stopTimer()
    this.#running.set(job.id, job)
    job.stopTimer = this.#clock.callAfter(deadlineSeconds * 1000, () => {
      job.end(new HelperFailure('hung', `it did not end within ${deadlineSeconds} s`))
      this.#leave(job)
    })
    this.#process?.send({ type: 'call', id: job.id, module, function: name, input })
  }

  /** Takes a call out of the line, or cancels it where it runs. */
  #leave(job: Job): void {
    const at = this.#waiting.indexOf(job)
    if (at !== -1) this.#waiting.splice(at, 1)
    const wasRunning = this.#running.delete(job.id)
    if (at !== -1 || wasRunning) job.stopTimer()
    if (!wasRunning) return
    this.#leaving.set(job.id, job)
    job.stopTimer = this.#clock.callAfter(this.#cancelMs, () => this.#replace())
    this.#process?.send({ type: 'cancel', id: job.id })
  }

  /** Nothing but the end of its process frees what a call holds that does not react. */
  #replace(): void {
    this.#endProcess()
    this.#lost('was ended for a call that hung', true)
  }

  #start(): void {
    try {
      const process = new HelperProcess(this.#spawn, this.#clock, {
        onReady: () => this.#pump(),
        onFrame: frame => this.#take(frame),
        onLost: how => {
          this.#process = undefined
          this.#lost(how, process.isReady)
        },
      })
      this.#process = process
    } catch (error) {
      // a machine without memory throws here, wherever the call came from
      this.#lost(`could not be started: ${(error as Error).message}`, false)
    }
  }

  #take(frame: Exclude<Frame, { type: 'ready' }>): void {
    const job = this.#running.get(frame.id)
    if (frame.type === 'item') job?.add(frame.json)
    else if (frame.type === 'progress') job?.report(frame.progress)
    else {
      if (frame.type === 'error') job?.end(new HelperFailure(frame.kind, frame.reason))
      else job?.end()
      this.#finish(frame.id)
    }
  }

  /** The process works on a call no more. */
  #finish(id: number): void {
    for (const jobs of [this.#running, this.#leaving]) {
      jobs.get(id)?.stopTimer()
      jobs.delete(id)
    }
    this.#pump()
  }

  /** The process is gone. One that never was ready would not be the next time either. */
  #lost(how: string, wasReady: boolean): void {
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

const stopped = (): HelperFailure => new HelperFailure('stopped', 'the daemon is ending')
