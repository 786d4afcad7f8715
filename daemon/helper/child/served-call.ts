import { Wakeup } from '../../../shared/wakeup.ts'
import { CallProgress } from '../../../shared/wire/answer-events.ts'
import { countItemBytes, type HelperFrame, MAX_ITEM_BYTES, WINDOW_BYTES } from '../protocol.ts'

/** Context passed to a helper function besides its input. */
export interface CallContext {
  /** Aborts when the caller is gone; the function must then end soon. */
  signal: AbortSignal
  /** Reports progress; reports within 100 ms of the last one are dropped. */
  report(progress: CallProgress): void
}

/** Returns a JSON-serialisable value, a promise of one, or an async iterable of items. */
export type HelperFunction = (input: never, context: CallContext) => unknown

const REPORT_EVERY_MS = 100

/** One call as the helper process runs it. */
export class ServedCall {
  readonly #id: number
  readonly #send: (frame: HelperFrame) => void
  readonly #controller = new AbortController()
  readonly #news = new Wakeup()
  #credit = WINDOW_BYTES
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(id: number, send: (frame: HelperFrame) => void) {
    this.#id = id
    this.#send = send
  }

  /** Adds credit for bytes that the reader has consumed. */
  grant(bytes: number): void {
    this.#credit += bytes
    this.#news.wake()
  }

  cancel(): void {
    this.#controller.abort()
    this.#news.wake()
  }

  /** Sends all items and the end of the call. */
  async run(find: () => Promise<HelperFunction>, input: unknown): Promise<void> {
    const { signal } = this.#controller
    try {
      const called = await find()
      const context = { signal, report: (progress: CallProgress) => this.#report(progress) }
      for await (const item of itemsOf(await called(input as never, context))) {
        if (!this.#sendItem(item)) return
        while (this.#credit <= 0 && !signal.aborted) await this.#news.wait()
        if (signal.aborted) break
      }
      this.#send({ type: 'end', id: this.#id })
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.#fail('failed', reason.slice(0, 300))
    }
  }

  /** Returns false when the item is too large, which ends the call. */
  #sendItem(item: unknown): boolean {
    const json = JSON.stringify(item ?? null)
    const bytes = Buffer.byteLength(json)
    if (bytes > MAX_ITEM_BYTES) {
      this.#fail('too_large', `its answer has ${bytes} bytes`)
      return false
    }
    this.#credit -= countItemBytes(json)
    this.#send({ type: 'item', id: this.#id, json })
    return true
  }

  #fail(kind: 'failed' | 'too_large', reason: string): void {
    this.#send({ type: 'error', id: this.#id, kind, reason })
  }

  #report(progress: CallProgress): void {
    // checked here, where it fails its call alone: the daemon ends a helper that breaks the protocol
    const checked = CallProgress.parse(progress)
    const now = performance.now()
    if (now - this.#reportedAt < REPORT_EVERY_MS) return
    this.#reportedAt = now
    this.#send({ type: 'progress', id: this.#id, progress: checked })
  }
}

/** Yields the items of an async iterable; any other value is the only item. */
async function* itemsOf(result: unknown): AsyncGenerator<unknown, void, void> {
  if (isAsyncIterable(result)) yield* result
  else yield result
}

const isAsyncIterable = (result: unknown): result is AsyncIterable<unknown> =>
  typeof result === 'object' && result !== null && Symbol.asyncIterator in result
