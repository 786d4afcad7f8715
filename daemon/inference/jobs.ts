import { ShoalError } from '../../shared/errors.ts'
import type { SlotAdmission, SlotRequest, Ticket } from './admission.ts'
import { JobMetrics, type JobTimes } from './job-metrics.ts'
import type { ChatOrder, EmbedOrder, JobEvent, Order, RankOrder } from './protocol.ts'

/** A request without the number that the engine gives it. */
export type JobWork = Omit<ChatOrder, 'job'> | Omit<EmbedOrder, 'job'> | Omit<RankOrder, 'job'>

/** Events for the caller of the engine. Nothing follows `end`, `vectors`, `scores` or `error`. */
export type EngineEvent =
  | Exclude<JobEvent, { type: 'refused' }>
  | { type: 'error'; error: ShoalError }

export type EngineListener = (event: EngineEvent) => void

interface Job {
  /** Absent after a cancel: the slot is still taken until the child has let go of it. */
  listener: EngineListener | undefined
  times: JobTimes
}

/** Process to which orders are sent. */
interface JobProcess {
  send(order: Order): void
  /** One of the orders is done. */
  finish(): void
}

/** Events after which the job goes on. */
const PASSING: ReadonlySet<JobEvent['type']> = new Set(['start', 'echo', 'text'])

/** The requests that run in one engine child or wait for it. */
export class Jobs {
  readonly #admission: SlotAdmission
  readonly #metrics: JobMetrics
  readonly #now: () => number
  readonly #running = new Map<number, Job>()
  #process: JobProcess | undefined
  #last = 0

  /** `now`: milliseconds of a clock that never jumps. */
  constructor(
    admission: SlotAdmission,
    metrics: JobMetrics = new JobMetrics(),
    now: () => number = () => performance.now(),
  ) {
    this.#admission = admission
    this.#metrics = metrics
    this.#now = now
  }

  /** Orders go to this process from now on. */
  attach(process: JobProcess): void {
    this.#process = process
  }

  /**
   * @param how.follows part of a request that was let in already: never refused because others wait
   * @throws ShoalError cell_unavailable when the queue is full
   */
  submit(
    work: JobWork,
    bytes: number,
    listener: EngineListener,
    how: SlotRequest = {},
  ): () => void {
    let job: number | undefined
    const askedMs = this.#now()
    const leave = this.#enter({
      ...how,
      bytes,
      onSlot: () => {
        job = this.#begin(work, listener, askedMs)
      },
      onRefused: error => {
        this.#metrics.countTurnedAway()
        listener({ type: 'error', error })
      },
    })
    return () => {
      leave()
      if (job !== undefined) this.#cancel(job)
    }
  }

  handle(events: readonly JobEvent[]): void {
    const nowMs = this.#now()
    for (const event of events) {
      const { listener, times } = this.#running.get(event.job) ?? {}
      if (times !== undefined) this.#metrics.note(event, times, nowMs)
      if (!PASSING.has(event.type)) this.#finish(event.job)
      listener?.(event.type === 'refused' ? toError(event) : event)
    }
  }

  /** Fails all requests of a child that has ended; its slots are already free. */
  drop(error: ShoalError): void {
    const jobs = [...this.#running.values()]
    this.#running.clear()
    this.#process = undefined
    this.#metrics.countLost(jobs.length)
    for (const { listener } of jobs) listener?.({ type: 'error', error })
  }

  #enter(ticket: Ticket): () => void {
    try {
      return this.#admission.enter(ticket)
    } catch (error) {
      this.#metrics.countTurnedAway()
      throw error
    }
  }

  #begin(work: JobWork, listener: EngineListener, askedMs: number): number {
    const job = ++this.#last
    this.#running.set(job, { listener, times: this.#metrics.begin(askedMs, this.#now()) })
    this.#process?.send({ ...work, job })
    return job
  }

  #cancel(job: number): void {
    const running = this.#running.get(job)
    if (running?.listener === undefined) return
    running.listener = undefined
    this.#process?.send({ type: 'cancel', job })
  }

  #finish(job: number): void {
    if (!this.#running.delete(job)) return
    this.#process?.finish()
    this.#admission.leave()
  }
}

const toError = ({
  code,
  message,
  param,
}: Extract<JobEvent, { type: 'refused' }>): EngineEvent => ({
  type: 'error',
  error: new ShoalError(code, message, param === undefined ? {} : { param }),
})
