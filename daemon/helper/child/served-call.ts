import { Wakeup } from '../../../shared/wakeup.ts'
import type { CallProgress } from '../../../shared/wire/answer-events.ts'
import { type Frame, MAX_ITEM_BYTES, WINDOW_BYTES } from '../protocol.ts'

/** What a function of a helper gets beside its input. */
export interface CallContext {
  /** Aborts when the call has no reader any more; the function must end soon then. */
  signal: AbortSignal
  /** Reports within 100 ms of another one are left out. */
  report(progress: CallProgress): void
}

/** Returns a value, a promise of one, or items one after the other; all of them fit into JSON. */
export type HelperFunction = (input: never, context: CallContext) => unknown

const REPORT_EVERY_MS = 100

/** One call, as the helper process carries it out. */
export class ServedCall {
  readonly #id: number
  readonly #send: (frame: Frame) => void
  readonly #controller = new AbortController()
  readonly #news = new Wakeup()
  #credit = WINDOW_BYTES
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(id: number, send: (frame: Frame) => void) {
    this.#id = id
    this.#send = send
  }

  /** The reader has taken so many bytes. */
  grant(bytes: number): void {
    this.#credit += bytes
    this.#news.wake()
  }

  cancel(): void {
    this.#controller.abort()
    this.#news.wake()
  }

  /** Sends all items and how the call ended. */
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

  /** False when the item ends the call because it is too large. */
  #sendItem(item: unknown): boolean {
    const json = JSON.stringify(item ?? null)
    const bytes = Buffer.byteLength(json)
    if (bytes > MAX_ITEM_BYTES) {
      this.#fail('too_large', `its answer has ${bytes} bytes`)
      return false
    }
    this.#credit -= bytes
    this.#send({ type: 'item', id: this.#id, json })
    return true
  }

  #fail(kind: 'failed' | 'too_large', reason: string): void {
    this.#send({ type: 'error', id: this.#id, kind, reason })
  }

  #report(progress: CallProgress): void {
    const now = performance.now()
    if (now - this.#reportedAt < REPORT_EVERY_MS) return
    this.#reportedAt = now
    this.#send({ type: 'progress', id: this.#id, progress })
  }
}

/** The items of a function that yields them; of another one its value is the only item. */
async function* itemsOf(result: unknown): AsyncGenerator<unknown, void, void> {
  if (isAsyncIterable(result)) yield* result
  else yield result
}

const isAsyncIterable = (result: unknown): result is AsyncIterable<unknown> =>
  typeof result === 'object' && result !== null && Symbol.asyncIterator in result
