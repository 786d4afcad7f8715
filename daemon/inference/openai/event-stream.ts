import type { ShoalError } from '../../../shared/errors.ts'
import type { Usage } from '../../../shared/wire/openai.ts'
import {
  SSE_DONE,
  SSE_HEADERS,
  SSE_KEEPALIVE,
  sseData,
  sseError,
} from '../../../shared/wire/sse.ts'
import { announceUsage, endWithUsage, type HttpResponse } from './http.ts'

/**
 * A reader that lets more than this wait, besides the largest piece that it was sent at once, is
 * not reading any more.
 */
const MAX_WAITING_BYTES = 256 * 1024

interface SseStreamOptions {
  /** Additional headers, requested when the first event is sent. */
  headers: () => [string, string][]
  /** Runs the function again and again until the answer is called. */
  repeat: (run: () => void) => () => void
  /** The reader has stopped reading. */
  onStalled: () => void
}

/**
 * An answer as server-sent events. Writing never waits: what the reader has not taken yet waits in
 * the response, up to a bound.
 */
export class SseStream {
  readonly #response: HttpResponse
  readonly #options: SseStreamOptions
  #quiet = false
  #largestBytes = 0
  #stopKeepalive: (() => void) | undefined

  constructor(response: HttpResponse, options: SseStreamOptions) {
    this.#response = response
    this.#options = options
  }

  /** True once the status is sent; a failure can then only be an event. */
  get started(): boolean {
    return this.#response.headersSent
  }

  /** Starts sending a comment whenever nothing else was sent for a while. */
  keepAlive(): void {
    this.#stopKeepalive = this.#options.repeat(() => {
      if (this.#quiet) this.#write(SSE_KEEPALIVE)
      this.#quiet = true
    })
  }

  send(value: unknown): void {
    this.sendText(sseData(value))
  }

  /** Events that are written down already; nothing happens when there are none. */
  sendText(events: string): void {
    if (events === '') return
    this.#quiet = false
    this.#write(events)
  }

  /** @param last events that go out together with the end */
  finish(usage: Usage, last = ''): void {
    this.close()
    this.#write(last + SSE_DONE)
    endWithUsage(this.#response, usage)
  }

  fail(error: ShoalError): void {
    this.close()
    this.#response.end(sseError(error))
  }

  /** No more comments. */
  close(): void {
    this.#stopKeepalive?.()
  }

  #write(text: string): void {
    if (!this.#response.headersSent) this.#sendHeaders()
    this.#largestBytes = Math.max(this.#largestBytes, Buffer.byteLength(text))
    this.#response.write(text)
    const mostBytes = MAX_WAITING_BYTES + this.#largestBytes
    if (this.#response.writableLength > mostBytes) this.#options.onStalled()
  }

  #sendHeaders(): void {
    const headers = [...Object.entries(SSE_HEADERS), ...this.#options.headers()]
    for (const [name, value] of headers) this.#response.setHeader(name, value)
    announceUsage(this.#response)
  }
}
