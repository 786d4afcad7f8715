import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { stopTimer, systemRuntime, type Timer } from '../../../shared/runtime.ts'
import { SSE_KEEPALIVE, SSE_KEEPALIVE_MS } from '../../../shared/wire/sse.ts'

/** Unread text from which on a producer should wait for its reader. */
const WAIT_BYTES = 64 * 1024
/** Unread text at which a response is cut off, as its producer does not wait. */
const MAX_BYTES = 4 * 1024 * 1024
/** Time in which a client must take something of the end of its response. */
const STALL_MS = 30_000
/** Time for the last event to be flushed to a client whose key has ended. */
const FLUSH_MS = 250

/**
 * Disconnects a client that does not read the end of its response, which must not keep the
 * connection: after 30 s without progress, or 250 ms after its key has ended.
 */
export const limitFlush = (response: ServerResponse, isKeyEnded: boolean): void => {
  const disconnect = () => response.destroy()
  if (isKeyEnded) systemRuntime.setTimeout(disconnect, FLUSH_MS).unref()
  else response.setTimeout(STALL_MS, disconnect)
}

/** Text of a response, such as server-sent events, produced no faster than its reader takes it. */
export class PacedLines {
  readonly stream = new Readable({ read: () => this.#resume(), highWaterMark: WAIT_BYTES })
  readonly #keepalive: Timer | undefined
  #isEnded = false
  #drained: PromiseWithResolvers<void> | undefined

  /** @param isEvents true to send a comment now and then, which keeps a silent stream open */
  constructor(isEvents = true) {
    if (isEvents)
      this.#keepalive = systemRuntime
        .setInterval(() => {
          if (this.#drained === undefined) this.put(SSE_KEEPALIVE)
        }, SSE_KEEPALIVE_MS)
        .unref()
    this.stream.once('close', () => this.#release())
  }

  /**
   * Resolves when the reader can take more, or has left; undefined when it can take more now. Text
   * after the end is dropped: a producer may still run when its response is complete.
   */
  put(text: string): Promise<void> | undefined {
    const { stream } = this
    if (this.#isEnded) return undefined
    if (this.#drained !== undefined && stream.readableLength > MAX_BYTES) stream.destroy()
    if (stream.destroyed || stream.push(text)) return undefined
    this.#drained ??= Promise.withResolvers()
    return this.#drained.promise
  }

  /** Ends the response after the last text, however long that is. */
  end(last = ''): void {
    this.#isEnded = true
    this.#release()
    if (this.stream.destroyed) return
    if (last !== '') this.stream.push(last)
    this.stream.push(null)
  }

  #release(): void {
    stopTimer(this.#keepalive)
    this.#resume()
  }

  #resume(): void {
    this.#drained?.resolve()
    this.#drained = undefined
  }
}
