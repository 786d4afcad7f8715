import { type Clock, systemClock } from '../inference/clock.ts'
import type { HelperChild, SpawnHelper } from './helper-child.ts'
import { HelperFailure } from './helper-failure.ts'
import type { HelperReply } from './protocol.ts'

/** One call of a function that the helper knows by name. It must be harmless to repeat. */
export interface HelperCall {
  module: string
  function: string
  input: unknown
  /** Longest time it may run, seconds; waiting for its turn comes before. */
  deadlineSeconds: number
}

export interface HelperOptions {
  spawn: SpawnHelper
  clock?: Clock
  /** Seconds without a call after which the process is ended. */
  idleSeconds?: number
}

interface Job {
  id: number
  call: HelperCall
  askedAtMs: number
  /** The process ended under it before: now it runs alone, so that it cannot take others with it. */
  alone: boolean
  callOff: () => void
  done: (json: string) => void
  fail: (failure: HelperFailure) => void
}

const MAX_RUNNING = 4
const MAX_WAITING = 32
/** Nobody waits longer for an answer. */
const MAX_WAIT_MS = 15_000
const START_MS = 30_000
const IDLE_SECONDS = 30

/**
 * The one process for foreign code that may block, hang or crash. It is started by the first call
 * and ended when there was none for a while. A call that does not end in time ends the process;
 * those that ran beside it are asked once more, each alone.
 */
export class Helper {
  readonly #spawn: SpawnHelper
  readonly #clock: Clock
  readonly #idleMs: number
  readonly #waiting: Job[] = []
  readonly #running = new Map<number, Job>()
  #child: HelperChild | undefined
  #isReady = false
  #isStopped = false
  #nextId = 0
  /** Of the time for starting, and then of the time without a call. */
  #callOff = (): void => {}

  constructor({ spawn, clock = systemClock, idleSeconds = IDLE_SECONDS }: HelperOptions) {
    this.#spawn = spawn
    this.#clock = clock
    this.#idleMs = idleSeconds * 1000
  }

  /** Of the process, while there is one. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  /**
   * What the function answers.
   *
   * @throws HelperFailure
   */
  async call(call: HelperCall): Promise<unknown> {
    if (this.#isStopped) throw stopped()
    if (this.#waiting.length >= MAX_WAITING)
      throw new HelperFailure('busy', `${MAX_WAITING} calls wait for the helper`)
    const json = await new Promise<string>((done, fail) => {
      const [id, askedAtMs] = [this.#nextId++, this.#clock.now()]
      this.#waiting.push({ id, call, askedAtMs, alone: false, callOff: () => {}, done, fail })
      this.#pump()
    })
    return JSON.parse(json)
  }

  /** Ends the process and every call; no other is taken. */
  stop(): void {
    this.#isStopped = true
    for (const job of [...this.#running.values(), ...this.#waiting]) {
      job.callOff()
      job.fail(stopped())
    }
    this.#running.clear()
    this.#waiting.length = 0
    this.#endChild()
  }

  #pump(): void {
    this.#dropOld()
    if (this.#child === undefined) {
      if (this.#waiting.length > 0) this.#start()
      return
    }
    if (!this.#isReady) return
    for (let job = this.#next(); job !== undefined; job = this.#next()) this.#run(job)
    if (this.#running.size > 0) return
    this.#callOff()
    this.#callOff = this.#clock.callAfter(this.#idleMs, () => this.#endChild())
  }

  #dropOld(): void {
    const since = this.#clock.now() - MAX_WAIT_MS
    const old = this.#waiting.filter(({ askedAtMs }) => askedAtMs < since)
    for (const job of old) {
      this.#waiting.splice(this.#waiting.indexOf(job), 1)
      job.fail(new HelperFailure('busy', `its turn did not come within ${MAX_WAIT_MS / 1000} s`))
    }
  }

  /** Takes the next call out of the line, if it may run now. */
  #next(): Job | undefined {
    const running = [...this.#running.values()]
    const [first] = this.#waiting
    const isFull = running.length >= MAX_RUNNING || running.some(({ alone }) => alone)
    if (first === undefined || isFull || (first.alone && running.length > 0)) return undefined
    return this.#waiting.shift()
  }

  #run(job: Job): void {
    const { deadlineSeconds, module, function: name, input } = job.call
    this.#callOff()
    this.#running.set(job.id, job)
    job.callOff = this.#clock.callAfter(deadlineSeconds * 1000, () => this.#hung(job))
    this.#child?.send({ id: job.id, module, function: name, input })
  }

  /** Only its end frees what it holds. */
  #hung(job: Job): void {
    this.#running.delete(job.id)
    job.fail(new HelperFailure('hung', `it did not end within ${job.call.deadlineSeconds} s`))
    this.#lost('was ended for a call that hung')
  }

  #start(): void {
    this.#isReady = false
    try {
      const child = this.#spawn({
        onReply: reply => this.#child === child && this.#reply(reply),
        onEnd: how => this.#child === child && this.#lost(how),
      })
      this.#child = child
    } catch (error) {
      // a machine without memory throws here, wherever the call came from
      this.#lost(`could not be started: ${(error as Error).message}`)
      return
    }
    this.#callOff = this.#clock.callAfter(START_MS, () => this.#lost('did not start in time'))
  }

  #reply(reply: HelperReply): void {
    if (reply.type === 'ready') {
      this.#callOff()
      this.#isReady = true
      this.#pump()
      return
    }
    const job = this.#running.get(reply.id)
    if (job === undefined) return
    this.#running.delete(reply.id)
    job.callOff()
    if (reply.type === 'value') job.done(reply.json)
    else job.fail(new HelperFailure(reply.kind, reply.reason))
    this.#pump()
  }

  /** The process is gone or has to go. One that never was ready would not be the next time. */
  #lost(how: string): void {
    const jobs = this.#isReady ? [...this.#running.values()] : this.#waiting.splice(0)
    this.#running.clear()
    for (const job of jobs) job.callOff()
    const [again, over] = this.#isReady ? split(jobs) : [[], jobs]
    this.#endChild()
    for (const job of over) job.fail(new HelperFailure('died', `the helper ${how}`))
    this.#waiting.unshift(...again.map(job => ({ ...job, alone: true })))
    this.#pump()
  }

  #endChild(): void {
    const child = this.#child
    this.#callOff()
    this.#child = undefined
    this.#isReady = false
    child?.kill()
  }
}

/** Those to ask once more, and those that ended the process though they ran alone. */
const split = (jobs: readonly Job[]): [Job[], Job[]] => [
  jobs.filter(({ alone }) => !alone),
  jobs.filter(({ alone }) => alone),
]

const stopped = (): HelperFailure => new HelperFailure('stopped', 'the daemon is ending')
