import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** A database whose log is moved into its file from time to time. */
interface CheckpointedFile {
  path: string
  /** Number of pages in the log that are not in the file yet. */
  countPages: () => number
}

const LOOK_EVERY_MS = 250
/** SQLite's own default for a checkpoint within a commit (sqlite.org/wal.html, section 3.1). */
const CHECKPOINT_PAGES = 1000

/**
 * Checkpoints databases on a thread of its own. SQLite does that within the commit that fills the
 * log, and waits twice for the disk, which stops the event loop for tens of milliseconds. The thread
 * is started when a log is long enough for the first time.
 */
export class Checkpointer {
  readonly #files = new Set<CheckpointedFile>()
  readonly #timer: NodeJS.Timeout
  #worker: Worker | undefined
  #running: Promise<void> | undefined

  constructor() {
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref()
  }

  /** Watches a database. Returns how to stop that. */
  watch(file: CheckpointedFile): () => void {
    this.#files.add(file)
    return () => void this.#files.delete(file)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
    await this.#worker?.terminate()
  }

  #look(): void {
    if (this.#running !== undefined) return
    const due = [...this.#files].filter(file => file.countPages() >= CHECKPOINT_PAGES)
    if (due.length === 0) return
    this.#running = this.#checkpoint(due).finally(() => {
      this.#running = undefined
    })
  }

  /** A thread that fails is started again at the next look; the writer checkpoints without it. */
  async #checkpoint(files: readonly CheckpointedFile[]): Promise<void> {
    const worker = this.#worker ?? new Worker(new URL('./checkpoint-worker.ts', import.meta.url))
    this.#worker = worker
    worker.ref()
    try {
      for (const { path } of files) {
        worker.postMessage(path)
        await once(worker, 'message')
      }
      worker.unref()
    } catch {
      this.#worker = undefined
    }
  }
}
