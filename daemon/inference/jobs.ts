import { ShoalError } from '../../shared/errors.ts'
import type { Admission } from './admission.ts'
import type { ChatOrder, EmbedOrder, JobEvent, Order } from './protocol.ts'

/** A request without the number that the engine gives it. */
export type Work = Omit<ChatOrder, 'job'> | Omit<EmbedOrder, 'job'>

/** What the caller of the engine hears. After `end`, `vectors` or `error` nothing follows. */
export type EngineEvent =
  | Exclude<JobEvent, { type: 'refused' }>
  | { type: 'error'; error: ShoalError }

export type EngineListener = (event: EngineEvent) => void

interface Job {
  /** Absent after a cancel: the slot is still taken until the child has let go of it. */
  listener: EngineListener | undefined
}

/** Where the orders go. */
export interface JobProcess {
  send(order: Order): void
  /** One of the orders is done. */
  done(): void
}

/** The requests that run in one engine child or wait for it. */
export class Jobs {
  readonly #admission: Admission
  readonly #running = new Map<number, Job>()
  #process: JobProcess | undefined
  #last = 0

  constructor(admission: Admission) {
    this.#admission = admission
  }

  /** Orders go to this process from now on. */
  attach(process: JobProcess): void {
    this.#process = process
  }

  /**
   * @param follows part of a request that was let in already: never refused because others wait
   * @throws ShoalError cell_unavailable when the queue is full
   */
  submit(work: Work, bytes: number, listener: EngineListener, follows = false): () => void {
    let job: number | undefined
    const leave = this.#admission.enter({
      bytes,
      follows,
      onSlot: () => {
        job = this.#begin(work, listener)
      },
      onRefused: error => listener({ type: 'error', error }),
    })
    return () => {
      leave()
      if (job !== undefined) this.#cancel(job)
    }
  }

  handle(events: readonly JobEvent[]): void {
    for (const event of events) {
      const listener = this.#running.get(event.job)?.listener
      if (event.type !== 'start' && event.type !== 'text') this.#finish(event.job)
      listener?.(event.type === 'refused' ? refused(event) : event)
    }
  }

  /** The child is gone. Its slots are already free. */
  drop(error: ShoalError): void {
    const jobs = [...this.#running.values()]
    this.#running.clear()
    this.#process = undefined
    for (const { listener } of jobs) listener?.({ type: 'error', error })
  }

  #begin(work: Work, listener: EngineListener): number {
    const job = ++this.#last
    this.#running.set(job, { listener })
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
    this.#process?.done()
    this.#admission.leave()
  }
}

const refused = ({
  code,
  message,
  param,
}: Extract<JobEvent, { type: 'refused' }>): EngineEvent => ({
  type: 'error',
  error: new ShoalError(code, message, param === undefined ? {} : { param }),
})
