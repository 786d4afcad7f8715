import { Worker } from 'node:worker_threads'

interface BoundedThreadParts {
  /** Module of the thread: it posts a message when it is loaded, then one answer to each order. */
  file: URL
  heapMb: number
  /** Time without an order after which the thread ends, because it takes memory; never by default. */
  idleMs?: number
  workerData?: unknown
}

/**
 * A thread for work that may take any time or memory, one order at a time. It starts with the first
 * order, and is ended by one that exceeds its bounds; the next order starts another.
 */
export class BoundedThread<Order, Answer> {
  readonly #parts: BoundedThreadParts
  #worker: Promise<Worker> | undefined
  #idle: NodeJS.Timeout | undefined
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  constructor(parts: BoundedThreadParts) {
    this.#parts = parts
  }

  /** True while there is a thread. */
  get isStarted(): boolean {
    return this.#worker !== undefined
  }

  /** Orders without an answer. */
  get waiting(): number {
    return this.#waiting
  }

  /** Resolves to undefined when the order took more than its time or the memory of the thread. */
  ask(order: Order, maxSeconds: number): Promise<Answer | undefined> {
    this.#waiting++
    const mine = this.#last.then(() => this.#askNext(order, maxSeconds))
    this.#last = mine.catch(() => {}).finally(() => this.#leave())
    return mine
  }

  async #askNext(order: Order, maxSeconds: number): Promise<Answer | undefined> {
    clearTimeout(this.#idle)
    this.#worker ??= this.#start()
    const worker = await this.#worker.catch(error => {
      this.#worker = undefined
      throw error
    })
    const answer = await askWorker<Answer>(worker, order, maxSeconds)
    if (answer === undefined) await this.#stop()
    return answer
  }

  #start(): Promise<Worker> {
    const starting = startWorker(this.#parts)
    const forget = (): void => {
      if (this.#worker === starting) this.#worker = undefined
    }
    // a thread that dies between two orders answers none
    starting.then(
      worker => worker.once('exit', forget),
      () => {},
    )
    return starting
  }

  #leave(): void {
    this.#waiting--
    const { idleMs } = this.#parts
    if (this.#waiting > 0 || idleMs === undefined) return
    this.#idle = setTimeout(() => void this.#stop(), idleMs).unref()
  }

  async #stop(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await (await worker)?.terminate()
  }
}

/** Resolves when the modules of the thread are loaded, which the time of an order leaves out. */
const startWorker = async ({ file, heapMb, workerData }: BoundedThreadParts): Promise<Worker> => {
  const resourceLimits = { maxOldGenerationSizeMb: heapMb }
  const worker = new Worker(file, { resourceLimits, workerData })
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  // the second listener stays: a thread that runs out of memory must not end the process
  worker.once('message', resolve).on('error', reject)
  await promise
  return worker
}

/** Undefined when the thread ended or the time is over. */
const askWorker = async <Answer>(
  worker: Worker,
  order: unknown,
  maxSeconds: number,
): Promise<Answer | undefined> => {
  const { promise, resolve } = Promise.withResolvers<Answer | undefined>()
  const give = (): void => resolve(undefined)
  const timer = setTimeout(give, maxSeconds * 1000)
  worker.once('message', resolve).once('exit', give)
  worker.ref()
  worker.postMessage(order)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    worker.off('message', resolve).off('exit', give)
    worker.unref()
  }
}
