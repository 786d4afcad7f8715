import { Worker } from 'node:worker_threads'
import { ShoalError } from '../errors.ts'
import { DocumentError, limitsOf, type Reading } from './document.ts'
import type { DocumentAnswer, DocumentOrder } from './document-worker.ts'

const FILE = new URL('document-worker.ts', import.meta.url)
/** A thread that is idle ends, because it takes memory. */
const THREAD_LIMITS = { heapMb: 256, idleMs: 30_000 }
const MAX_WAITING = 64

/**
 * Reads documents in a thread of its own, one at a time. The thread starts with the first document,
 * is ended by one that takes too much time or memory, and ends when it has been idle.
 */
export class DocumentThread {
  readonly #limits: typeof THREAD_LIMITS
  #worker: Promise<Worker> | undefined
  #idle: NodeJS.Timeout | undefined
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  constructor(limits: typeof THREAD_LIMITS = THREAD_LIMITS) {
    this.#limits = limits
  }

  /** True while there is a thread. */
  get isStarted(): boolean {
    return this.#worker !== undefined
  }

  /**
   * Parses the bytes and applies the reader.
   * @throws DocumentError, and the ShoalError of a reader
   */
  async read(bytes: Uint8Array, reading: Reading): Promise<unknown> {
    if (this.#waiting >= MAX_WAITING)
      throw new DocumentError('busy', 'waits behind too many others')
    this.#waiting++
    const mine = this.#last.then(() => this.#readNext(bytes, reading))
    this.#last = mine.catch(() => {}).finally(() => this.#leave())
    return toValue(await mine)
  }

  async #readNext(bytes: Uint8Array, reading: Reading): Promise<DocumentAnswer> {
    clearTimeout(this.#idle)
    this.#worker ??= startWorker(this.#limits.heapMb)
    const worker = await this.#worker.catch(error => {
      this.#worker = undefined
      throw error
    })
    const answer = await askWorker(worker, { bytes, reading })
    if (answer !== undefined) return answer
    this.#worker = undefined
    await worker.terminate()
    const { maxSeconds } = limitsOf(reading)
    const message = `takes more than ${maxSeconds} s or ${this.#limits.heapMb} MB to read`
    return { fault: 'excessive', message }
  }

  #leave(): void {
    this.#waiting--
    if (this.#waiting > 0) return
    this.#idle = setTimeout(() => void this.#stop(), this.#limits.idleMs).unref()
  }

  async #stop(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await (await worker)?.terminate()
  }
}

/** Resolves when the modules of the thread are loaded, which the time of a document leaves out. */
const startWorker = async (heapMb: number): Promise<Worker> => {
  const worker = new Worker(FILE, { resourceLimits: { maxOldGenerationSizeMb: heapMb } })
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  worker.once('message', resolve).on('error', reject)
  await promise
  return worker
}

/** Undefined when the thread ended or its time is over. */
const askWorker = async (
  worker: Worker,
  order: DocumentOrder,
): Promise<DocumentAnswer | undefined> => {
  const { promise, resolve } = Promise.withResolvers<DocumentAnswer | undefined>()
  const give = (): void => resolve(undefined)
  const timer = setTimeout(give, limitsOf(order.reading).maxSeconds * 1000)
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

const toValue = (answer: DocumentAnswer): unknown => {
  if ('value' in answer) return answer.value
  if ('fault' in answer) throw new DocumentError(answer.fault, answer.message)
  const { code, message, param } = answer.refusal
  throw new ShoalError(code, message, param === undefined ? {} : { param })
}
