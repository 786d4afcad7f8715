import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { ShoalError } from '../../../../shared/errors.ts'
import { stopTimer, systemRuntime, type Timer } from '../../../../shared/runtime.ts'
import type { CheckpointOrder } from './checkpoint-worker.ts'

/** A database whose log is moved into its file from time to time. */
interface CheckpointedFile {
  path: string
  /** Number of pages in the log that are not in the file yet. */
  countPages: () => number
}

const LOOK_EVERY_MS = 250
/** SQLite's own default for a checkpoint within a commit (sqlite.org/wal.html, section 3.1). */
const CHECKPOINT_PAGES = 1000
/** Tries to empty a log, each of which waits up to five seconds for those who use it. */
const EMPTY_TRIES = 6

/**
 * Checkpoints databases on a thread of its own. SQLite does that within the commit that fills the
 * log, and waits twice for the disk, which stops the event loop for tens of milliseconds. The thread
 * is started when a log is long enough for the first time.
 */
export class Checkpointer {
  readonly #files = new Set<CheckpointedFile>()
  readonly #timer: Timer
  #worker: Worker | undefined
  #running: Promise<void> | undefined

  constructor() {
    this.#timer = systemRuntime.setInterval(() => this.#look(), LOOK_EVERY_MS).unref()
  }

  /** Watches a database. Returns how to stop that. */
  watch(file: CheckpointedFile): () => void {
    this.#files.add(file)
    return () => void this.#files.delete(file)
  }

  /**
   * Moves the whole log of a database into its file and empties it. Throws `store_unavailable` when
   * others use the log all the time.
   */
  async emptyLog(path: string): Promise<void> {
    for (let tries = 0; tries < EMPTY_TRIES; tries++) {
      while (this.#running !== undefined) await this.#running
      const isDone = this.#checkpoint([{ path, mode: 'truncate' }])
      this.#running = this.#untilDone(isDone)
      if (await isDone) return
    }
    throw new ShoalError('store_unavailable', 'the log of the database is in use: try again', {
      retryAfterSeconds: 5,
    })
  }

  async close(): Promise<void> {
    stopTimer(this.#timer)
    await this.#running
    await this.#worker?.terminate()
  }

  #look(): void {
    if (this.#running !== undefined) return
    const due = [...this.#files].filter(file => file.countPages() >= CHECKPOINT_PAGES)
    if (due.length === 0) return
    this.#running = this.#untilDone(
      this.#checkpoint(due.map(({ path }) => ({ path, mode: 'passive' }))),
    )
  }

  async #untilDone(work: Promise<unknown>): Promise<void> {
    await work
    this.#running = undefined
  }

  /** A thread that fails is started again at the next look; the writer checkpoints without it. */
  async #checkpoint(orders: readonly CheckpointOrder[]): Promise<boolean> {
    const worker = this.#worker ?? new Worker(new URL('./checkpoint-worker.ts', import.meta.url))
    this.#worker = worker
    worker.ref()
    try {
      let isDone = true
      for (const order of orders) {
        worker.postMessage(order)
        const [done] = await once(worker, 'message')
        isDone &&= done === true
      }
      worker.unref()
      return isDone
    } catch {
      this.#worker = undefined
      return false
    }
  }
}
