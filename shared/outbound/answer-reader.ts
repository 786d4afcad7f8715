import type { Dispatcher } from 'undici'
import { SendError } from './send-error.ts'

/** Headers by lower-case name; of several with one name, the values are joined. */
export type AnswerHeaders = Readonly<Record<string, string | undefined>>

interface AnswerStart {
  status: number
  headers: AnswerHeaders
}

interface ReaderParts {
  /** Most bytes of the body; more ends the request with `too_large`. */
  maxBytes: number
  /** Runs when the connection is ready, before the request is written. */
  onConnected: () => void
}

/**
 * Reads one answer as the handler of undici. It never pauses the parser: undici below 8 ends the
 * process when a paused answer is cut (nodejs/undici, issue 5360). The body is bounded instead.
 */
export class AnswerReader implements Dispatcher.DispatchHandlers {
  readonly #parts: ReaderParts
  readonly #started = Promise.withResolvers<AnswerStart>()
  readonly #body = Promise.withResolvers<Buffer>()
  readonly #pieces: Buffer[] = []
  #bytes = 0
  #abort: ((error: Error) => void) | undefined
  #aborted: Error | undefined

  constructor(parts: ReaderParts) {
    this.#parts = parts
    // nobody may wait for them any more
    this.#started.promise.catch(() => {})
    this.#body.promise.catch(() => {})
  }

  /** Resolves with the head of the answer. */
  get started(): Promise<AnswerStart> {
    return this.#started.promise
  }

  /** Resolves with the whole body. */
  get body(): Promise<Buffer> {
    return this.#body.promise
  }

  /** Closes the connection; a request that waits for one is not sent. */
  abort(error: Error): void {
    this.#aborted ??= error
    this.#abort?.(this.#aborted)
  }

  onConnect(abort: (error?: Error) => void): void {
    this.#abort = abort
    if (this.#aborted === undefined) this.#parts.onConnected()
    else abort(this.#aborted)
  }

  onHeaders(status: number, rawHeaders: Buffer[]): boolean {
    if (status >= 200) this.#started.resolve({ status, headers: readHeaders(rawHeaders) })
    return true
  }

  onData(piece: Buffer): boolean {
    const { maxBytes } = this.#parts
    this.#bytes += piece.length
    if (this.#bytes <= maxBytes) this.#pieces.push(piece)
    else this.abort(createTooLargeError(maxBytes))
    return true
  }

  onComplete(): void {
    this.#body.resolve(Buffer.concat(this.#pieces))
  }

  onError(error: Error): void {
    this.#started.reject(error)
    this.#body.reject(error)
  }
}

export const createTooLargeError = (maxBytes: number): SendError =>
  new SendError('too_large', `the answer has more than ${maxBytes} bytes`)

/** Headers of which only the first counts, as in `node:http`. */
const SINGLE =
  /^(age|content-(type|length)|etag|expires|last-modified|location|retry-after|server)$/

/** Names and values by turns, in the order of the server. */
const readHeaders = (raw: readonly Buffer[]): AnswerHeaders => {
  const found: Record<string, string> = Object.create(null)
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = String(raw[at]).toLowerCase()
    const value = (raw[at + 1] as Buffer).toString('latin1')
    const known = found[name]
    if (known === undefined) found[name] = value
    else if (!SINGLE.test(name)) found[name] = `${known}, ${value}`
  }
  return found
}
