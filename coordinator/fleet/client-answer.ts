import type { OutgoingHttpHeaders } from 'node:http'
import { type ErrorCode, errorBody, httpStatus, type ShoalError } from '../../shared/errors.ts'
import { HEADER_CELL, HEADER_MAX_TOKENS } from '../../shared/wire/link.ts'
import { sseError } from '../../shared/wire/sse.ts'
import { codeOf } from './cell-answer.ts'
import type { AnswerHeaders, CellStream } from './cell-link.ts'
import type { ClientResponse } from './client-response.ts'
import { heldAnswers } from './held-memory.ts'

/** Headers of the cell's answer that the client gets. */
const PASSED_ON = [
  'content-type',
  'cache-control',
  'x-accel-buffering',
  'retry-after',
  HEADER_MAX_TOKENS,
]

/** Up to here head and body leave as one piece of text, which saves half of the cost of writing. */
const SMALL_BYTES = 8192
/** A client that has taken nothing of a large answer for so long does not read it any more. */
const STALLED_MS = 10 * 60_000
const EMPTY = Buffer.alloc(0)

/** The client's side of one request: whether it is there still, and what it is sent. */
export class ClientAnswer {
  readonly #response: ClientResponse
  /**
   * Headers for the client, whichever cell serves the request; they may change until they are sent.
   */
  readonly #headers: OutgoingHttpHeaders
  readonly #onError: (code: ErrorCode) => void
  /** Pieces of a stream that came in this turn of the event loop. */
  #pieces: Buffer[] = []
  #isFull = false

  /** @param onError told of the code of an error that is answered */
  constructor(
    response: ClientResponse,
    headers: OutgoingHttpHeaders,
    onError: (code: ErrorCode) => void = () => {},
  ) {
    this.#response = response
    this.#headers = headers
    this.#onError = onError
  }

  /** True when the client has left, or other code has already ended its answer (`cutAnswer`). */
  get isGone(): boolean {
    const { writableEnded, destroyed, socket } = this.#response
    return writableEnded || destroyed || socket?.destroyed === true
  }

  /** True when the client is not reading what it was sent. */
  get isStalled(): boolean {
    return this.#response.writableNeedDrain
  }

  onGone(run: () => void): void {
    this.#response.once('close', () => {
      if (this.isGone) run()
    })
  }

  drop(): void {
    this.#response.destroy()
  }

  /** Begins a stream. */
  start(answer: AnswerHeaders, cellId: string): void {
    if (!this.isGone) this.#response.writeHead(200, this.#headersFor(answer, cellId))
  }

  /**
   * Pieces of one turn of the event loop go out as one: under load that is half of the work. The
   * cell's stream is held back while the client does not read.
   */
  write(piece: Buffer, from: CellStream): void {
    if (this.#pieces.push(piece) === 1) setImmediate(() => this.#flush(from))
  }

  #flush(from: CellStream): void {
    const bytes = this.#takePieces()
    if (bytes === undefined || this.isGone || this.#response.write(bytes)) return
    if (this.#isFull) return
    this.#isFull = true
    from.pause()
    this.#response.once('drain', () => {
      this.#isFull = false
      from.resume()
    })
  }

  #takePieces(): Buffer | undefined {
    const bytes = this.#pieces.length > 1 ? Buffer.concat(this.#pieces) : this.#pieces[0]
    this.#pieces = []
    return bytes
  }

  /** The last words of a stream, with what was not sent yet before them. */
  end(last: Buffer = EMPTY): void {
    const pieces = this.#takePieces()
    if (this.isGone) return
    if (this.isStalled) this.#response.setTimeout(STALLED_MS, () => this.drop())
    this.#response.end(pieces === undefined ? last : Buffer.concat([pieces, last]))
  }

  /** Ends a stream that broke off; `error` is undefined when the client already has one. */
  breakOff(error: ShoalError | undefined): void {
    if (error !== undefined && !this.isGone) this.#onError(error.code)
    this.end(error && Buffer.from(sseError(error)))
  }

  /** A whole answer, as the cell gave it. */
  sendWhole(status: number, answer: AnswerHeaders, cellId: string, body: Buffer): void {
    if (this.isGone) return
    const code = status === 200 ? undefined : codeOf(body)
    if (code !== undefined) this.#onError(code)
    const headers = this.#headersFor(answer, cellId)
    headers['content-length'] = body.length
    this.#response.writeHead(status, headers)
    if (body.length > SMALL_BYTES) {
      // else it would stay in memory for as long as the connection does
      this.#response.setTimeout(STALLED_MS, () => this.drop())
      heldAnswers.take(body.length, true)
      this.#response.once('close', () => heldAnswers.give(body.length))
      this.#response.end(body)
      // one character for one byte, so the bytes stay what they are
    } else this.#response.end(body.toString('latin1'), 'latin1')
  }

  /** An error of ours, where no cell's answer is given. */
  refuse(error: ShoalError): void {
    if (this.isGone) return
    this.#onError(error.code)
    const body = JSON.stringify(errorBody(error))
    const { retryAfterSeconds } = error
    this.#response.writeHead(httpStatus(error.code), {
      ...this.#headers,
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
    })
    this.#response.end(body)
  }

  #headersFor(answer: AnswerHeaders, cellId: string): OutgoingHttpHeaders {
    const headers: OutgoingHttpHeaders = { ...this.#headers, [HEADER_CELL]: cellId }
    for (const name of PASSED_ON) if (answer[name] !== undefined) headers[name] = answer[name]
    return headers
  }
}
