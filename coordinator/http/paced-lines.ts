import { Readable } from 'node:stream'
import { SSE_KEEPALIVE, SSE_KEEPALIVE_MS } from '../../shared/wire/sse.ts'

/** Unread text from which on a producer should wait for its reader. */
const WAIT_BYTES = 64 * 1024
/** Unread text at which a response is cut off, as its producer does not wait. */
const MAX_BYTES = 4 * 1024 * 1024
/**
 * Time for the last event to be flushed; a client that does not read must not keep the connection.
 */
export const FLUSH_MS = 250

/** Server-sent events of a response, produced no faster than their reader takes them. */
export class PacedLines {
  readonly stream = new Readable({ read: () => this.#resume(), highWaterMark: WAIT_BYTES })
  readonly #keepalive: NodeJS.Timeout
  #drained: PromiseWithResolvers<void> | undefined

  constructor() {
    this.#keepalive = setInterval(() => {
      if (this.#drained === undefined) this.put(SSE_KEEPALIVE)
    }, SSE_KEEPALIVE_MS).unref()
    this.stream.once('close', () => this.#release())
  }

  /** Resolves when the reader can take more, or has left; undefined when it can take more now. */
  put(text: string): Promise<void> | undefined {
    const { stream } = this
    if (this.#drained !== undefined && stream.readableLength > MAX_BYTES) stream.destroy()
    if (stream.destroyed || stream.push(text)) return undefined
    this.#drained ??= Promise.withResolvers()
    return this.#drained.promise
  }

  /** Ends the response after the last text, however long that is. */
  end(last = ''): void {
    this.#release()
    if (this.stream.destroyed) return
    if (last !== '') this.stream.push(last)
    this.stream.push(null)
  }

  #release(): void {
    clearInterval(this.#keepalive)
    this.#resume()
  }

  #resume(): void {
    this.#drained?.resolve()
    this.#drained = undefined
  }
}
