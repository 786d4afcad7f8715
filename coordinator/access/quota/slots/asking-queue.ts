/** Requests of one subject that wait for the store. */
interface Asking {
  limit: number
  /** Number of requests; 0 for a grant ahead of need, undefined for a mere report. */
  waiting: number | undefined
  answered: PromiseWithResolvers<void>
}

export type AskingBatch = ReadonlyMap<string, Asking>

/** Subjects per transaction. */
const BATCH = 64

/**
 * Asks the store for many subjects at once, and never twice at the same time. `askStore` resolves
 * with false when the store does not answer: then the queue stands still until `start`.
 */
export class AskingQueue {
  readonly #askStore: (batch: AskingBatch) => Promise<boolean>
  readonly #next = new Map<string, Asking>()
  #asked: AskingBatch = new Map()
  #running: Promise<void> | undefined

  constructor(askStore: (batch: AskingBatch) => Promise<boolean>) {
    this.#askStore = askStore
  }

  /** Waits for the grant that is under way for the subject, or for the next one. */
  wait(subject: string, limit: number): Promise<void> {
    // what is under way is mostly enough for those who come meanwhile
    const asked = this.#asked.get(subject)
    if (asked?.waiting !== undefined) return asked.answered.promise
    const asking = this.add(subject, limit, 1)
    this.start()
    return asking.answered.promise
  }

  add(subject: string, limit: number, waiting: number | undefined): Asking {
    const asking = this.#next.get(subject) ?? createAsking(limit)
    this.#next.set(subject, asking)
    if (waiting !== undefined) {
      asking.limit = limit
      asking.waiting = (asking.waiting ?? 0) + waiting
    }
    return asking
  }

  /** Moves the callers that wait for an answer to the next one. */
  postpone(batch: AskingBatch): void {
    for (const [subject, { limit, waiting, answered }] of batch)
      answered.resolve(this.add(subject, limit, waiting).answered.promise)
  }

  size(): number {
    return this.#next.size
  }

  /** Starts the loop. It also asks for nothing, to see whether the store answers. */
  start(): void {
    this.#running ??= this.#run()
  }

  /** Resolves when nothing is asked any more. */
  async settle(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    // those of one turn of the event loop share a transaction
    await Promise.resolve()
    let isAnswered: boolean
    do {
      this.#asked = new Map([...this.#next].slice(0, BATCH))
      for (const subject of this.#asked.keys()) this.#next.delete(subject)
      isAnswered = await this.#askStore(this.#asked)
      this.#asked = new Map()
    } while (isAnswered && this.#next.size > 0)
    // in the same turn as the check for the next entry, so that a later one starts the loop again
    this.#running = undefined
  }
}

const createAsking = (limit: number): Asking => {
  const answered = Promise.withResolvers<void>()
  // a grant ahead of need has nobody who waits
  answered.promise.catch(() => {})
  return { limit, waiting: undefined, answered }
}
