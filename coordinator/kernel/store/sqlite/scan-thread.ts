import { Worker } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'
import { stopTimer, systemRuntime, type Timer } from '../../../../shared/runtime.ts'
import { storeUnavailable } from '../faults.ts'
import type { ScanAnswer, ScanOrder } from './scan-worker.ts'
import { translateFaults } from './sqlite-faults.ts'

const FILE = new URL('./scan-worker.ts', import.meta.url)
/** Time without a query after which the thread ends, because it takes memory. */
const IDLE_MS = 60_000

type Waiting = PromiseWithResolvers<unknown[]>

/**
 * Reads one SQLite file on a thread of its own, one query after another. The thread starts with the
 * first query and ends when it has been idle for a minute.
 */
export class ScanThread {
  readonly #path: string
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  #idle: Timer | undefined
  #lastId = 0
  #isClosed = false

  constructor(path: string) {
    this.#path = path
  }

  /** Returns the rows of a query. Rejects as a query of `read` does. */
  read(text: string, values: readonly unknown[]): Promise<unknown[]> {
    if (this.#isClosed) return Promise.reject(storeUnavailable('the store is closed', undefined))
    stopTimer(this.#idle)
    const waiting: Waiting = Promise.withResolvers()
    const order: ScanOrder = { id: ++this.#lastId, text, values }
    const worker = this.#worker ?? this.#start()
    this.#waiting.set(order.id, waiting)
    worker.ref()
    worker.postMessage(order)
    return waiting.promise
  }

  /** Waits for the query that runs, because a thread that is ended within SQLite keeps its locks. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled([...this.#waiting.values()].map(({ promise }) => promise))
    await this.#stop()
  }

  #start(): Worker {
    const worker = new Worker(FILE, { workerData: { path: this.#path } })
    worker.on('message', (answer: ScanAnswer) => this.#settle(answer))
    worker.once('error', error => this.#fail(worker, error))
    worker.once('exit', () => this.#fail(worker, undefined))
    this.#worker = worker
    return worker
  }

  #settle({ id, rows, fault }: ScanAnswer): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (rows !== undefined) waiting?.resolve(rows)
    else waiting?.reject(errorOf(fault))
    if (this.#waiting.size > 0) return
    this.#worker?.unref()
    this.#idle = systemRuntime.setTimeout(() => void this.#stop(), IDLE_MS).unref()
  }

  /** The next query starts another thread. */
  #fail(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    const error = storeUnavailable('the thread that reads the store has ended', cause)
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }

  async #stop(): Promise<void> {
    stopTimer(this.#idle)
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }
}

const errorOf = (fault: ScanAnswer['fault']): unknown => {
  const { message, code } = fault ?? { message: 'no answer', code: undefined }
  if (code === undefined) return new Error(message)
  try {
    return translateFaults((): never => {
      throw new Sqlite.SqliteError(message, code)
    })
  } catch (error) {
    return error
  }
}
