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
  /** Time after which a message that is not confirmed is sent again. */
  confirmMs?: number
  logger: Logger
}

/** Time between two messages: the coordinator takes at most 1,200 a minute from a cell. */
const PACE_MS = 60
/** The coordinator leaves a message unconfirmed that it cannot store now. */
const CONFIRM_MS = 30_000

type DrainOptions = Pick<SpoolDrainOptions, 'bucket' | 'wait' | 'signal'>

/** Sends one message; rejects when the connection ends, or when the signal aborts first. */
type Publish = (body: FindingsBody, signal: AbortSignal) => Promise<void>

/**
 * Findings of modules that ran by themselves. All of them pass over the disk, so that they arrive in
 * their order and survive the process; each stays there until the coordinator has stored it. The
 * oldest are dropped when there is no room.
 */
export class FindingsSpool {
  readonly #spool: Spool
  readonly #news = new Wakeup()
  readonly #confirmMs: number
  readonly #logger: Logger

  static async open(options: FindingsSpoolOptions): Promise<FindingsSpool> {
    // one message each: a link that breaks every few messages still moves on with every one of them
    const how = { batchRecords: 1, batchBytes: MAX_RECORD_BYTES, maxAttempts: 20 }
    return new FindingsSpool(await Spool.open({ ...options, ...how }), options)
  }

  private constructor(
    spool: Spool,
    { confirmMs = CONFIRM_MS, logger }: Pick<FindingsSpoolOptions, 'confirmMs' | 'logger'>,
  ) {
    this.#spool = spool
    this.#confirmMs = confirmMs
    this.#logger = logger
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
  async drain(publish: Publish, options: DrainOptions): Promise<void> {
    const send = async (batch: Batch): Promise<void> => {
      for (const text of batch.texts) {
        while (!(await this.#isConfirmed(JSON.parse(text), publish))) {
          // a connection that outlives a message does not end because of it
          batch.attempts = 0
        }
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

  async #isConfirmed(body: FindingsBody, publish: Publish): Promise<boolean> {
    const late = AbortSignal.timeout(this.#confirmMs)
    try {
      await publish(body, late)
      return true
    } catch (error) {
      if (!late.aborted) throw error
      this.#logger.warn({ module: body.module }, 'findings not confirmed; they are sent again')
      return false
    }
  }

  release(): void {
    this.#spool.release()
  }

  async close(): Promise<void> {
    await this.#spool.close()
  }
}
