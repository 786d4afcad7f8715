import type { Logger } from 'pino'
import { waitUntilAborted } from '../../shared/wait.ts'
import { Wakeup } from '../../shared/wakeup.ts'
import type { FindingsBody } from '../../shared/wire/findings.ts'
import { drain, type SpoolDrainOptions } from './drain.ts'
import { MAX_RECORD_BYTES } from './records.ts'
import { type Batch, Spool } from './spool.ts'

interface FindingsSpoolOptions {
  folder: string
  maxBytes: number
  logger: Logger
}

/**
 * Time between two messages. The coordinator refuses the messages of a cell beyond 20 a second over
 * time, and what it refuses is lost, because the link has confirmed it.
 */
const PACE_MS = 60

type DrainOptions = Pick<SpoolDrainOptions, 'bucket' | 'wait' | 'signal'>

/**
 * Findings of modules that ran by themselves. All of them pass over the disk, so that they arrive in
 * their order and survive the process; the oldest are dropped when there is no room.
 */
export class FindingsSpool {
  readonly #spool: Spool
  readonly #news = new Wakeup()

  static async open(options: FindingsSpoolOptions): Promise<FindingsSpool> {
    const how = { batchRecords: 10, batchBytes: MAX_RECORD_BYTES, maxAttempts: 20 }
    return new FindingsSpool(await Spool.open({ ...options, ...how }))
  }

  private constructor(spool: Spool) {
    this.#spool = spool
  }

  /** Findings that were dropped, in messages, since the start. */
  get dropped(): number {
    return this.#spool.dropped
  }

  /** Resolves when the message is on disk. */
  async keep(body: FindingsBody): Promise<void> {
    await this.#spool.keep(JSON.stringify(body))
    this.#news.wake()
  }

  limit(maxBytes: number): void {
    this.#spool.limit(maxBytes)
  }

  /** Sends what is kept and what comes, one message after the other, until the signal aborts. */
  async drain(
    publish: (body: FindingsBody) => Promise<void>,
    options: DrainOptions,
  ): Promise<void> {
    const send = async ({ texts }: Batch): Promise<void> => {
      for (const text of texts) {
        await publish(JSON.parse(text))
        await options.wait(PACE_MS, signal)
      }
    }
    const { signal } = options
    const gone = waitUntilAborted(0, signal)
    while (!signal.aborted) {
      const news = this.#news.wait()
      await drain({ ...options, spool: this.#spool, send, window: 1 })
      await Promise.race([news, gone])
    }
  }

  release(): void {
    this.#spool.release()
  }

  async close(): Promise<void> {
    await this.#spool.close()
  }
}
