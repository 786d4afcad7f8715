import type { OutgoingHttpHeaders } from 'node:http'
import { type ErrorCode, errorBody, httpStatus, type ShoalError } from '../../../shared/errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import { HEADER_CELL, HEADER_MAX_TOKENS } from '../../../shared/wire/link.ts'
import { sseError } from '../../../shared/wire/sse.ts'
import type { AnswerHeaders, CellStream } from '../../fleet/cells/cell-link.ts'
import {
  AnswerHold,
  type AnswerMemory,
  FREE_BYTES,
  type HoldOwner,
} from '../../fleet/questions/answer-hold.ts'
import { codeOf } from '../../fleet/questions/cell-answer.ts'
import { CLIENT_SWEEPS } from '../../fleet/questions/transfers.ts'
import type { AnswerRest } from './answer-rest.ts'
import type { ClientResponse } from './client-response.ts'

/** Headers of the cell's answer that the client gets. */
const PASSED_ON = [
  'content-type',
  'cache-control',
  'x-accel-buffering',
  'retry-after',
  HEADER_MAX_TOKENS,
]

/** A larger answer is written in rounds of so many bytes, each when the client has read the last. */
const ROUND_BYTES = 256 * 1024
const EMPTY = Buffer.alloc(0)

interface ClientAnswerParts {
  response: ClientResponse
  /**
   * Headers for the client, whichever cell serves the request; they may change until they are sent.
   */
  headers: OutgoingHttpHeaders
  memory: AnswerMemory
  /** Key whose share of the memory unread bytes take. */
  keyId: string
  /** Receives the code of an error that is answered. */
  onError?: ((code: ErrorCode) => void) | undefined
  runtime: Pick<Runtime, 'setImmediate'>
}

/** The client's side of one request: whether it is there still, and what it is sent. */
export class ClientAnswer implements HoldOwner {
  readonly #parts: ClientAnswerParts
  readonly #response: ClientResponse
  /** Pieces of a stream that came in this turn of the event loop. */
  #pieces: Buffer[] = []
  /** Bytes of a stream that the client does not read; undefined until that happens. */
  #unread: AnswerHold | undefined
  #isFull = false

  constructor(parts: ClientAnswerParts) {
    this.#parts = parts
    this.#response = parts.response
  }

  /** True when the client has disconnected, or other code has already ended its answer (`cutAnswer`). */
  get isGone(): boolean {
    const { writableEnded, destroyed, socket } = this.#response
    return writableEnded || destroyed || socket?.destroyed === true
  }

  /** True when the client is not reading what it was sent. */
  get isStalled(): boolean {
    return this.#response.writableNeedDrain
  }

  onGone(run: () => void): void {
    this.#response.on('close', () => {
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
    if (this.#pieces.push(piece) === 1) this.#parts.runtime.setImmediate(() => this.#flush(from))
  }

  #flush(from: CellStream): void {
    const bytes = this.#takePieces()
    if (bytes === undefined || this.isGone || this.#response.write(bytes)) return
    if (this.#isFull) this.#countUnread(bytes.length)
    else this.#waitForDrain(from)
  }

  #waitForDrain(from: CellStream): void {
    this.#isFull = true
    from.pause()
    this.#countUnread(this.#response.writableLength)
    this.#response.once('drain', () => {
      this.#isFull = false
      this.#unread?.close()
      from.resume()
    })
  }

  /** A client that does not read is cut when its key has used up its share. */
  #countUnread(bytes: number): void {
    this.#unread ??= this.#openUnread()
    if (!this.#unread.isWatched) this.#unread.watch(CLIENT_SWEEPS)
    if (!this.#unread.take(bytes)) this.drop()
  }

  #openUnread(): AnswerHold {
    const { memory, keyId } = this.#parts
    const unread = new AnswerHold(memory, keyId, undefined, this)
    this.#response.once('close', () => unread.close())
    return unread
  }

  /** The client does not read, or a key that holds less needs the memory. */
  onCut(): void {
    this.drop()
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
    this.#response.end(pieces === undefined ? last : Buffer.concat([pieces, last]))
    const bytes = this.#response.writableLength
    if (bytes > FREE_BYTES) this.#countUnread(bytes - (this.#unread?.bytes ?? 0))
  }

  /** Ends a stream that broke off; `error` is undefined when the client already has one. */
  breakOff(error: ShoalError | undefined): void {
    if (error !== undefined && !this.isGone) this.#parts.onError?.(error.code)
    this.end(error && Buffer.from(sseError(error)))
  }

  /** A whole answer, as the cell gave it. */
  sendWhole(status: number, rest: AnswerRest, cellId: string): void {
    if (this.isGone) rest.discard()
    else this.#send(status, rest, cellId)
  }

  #send(status: number, rest: AnswerRest, cellId: string): void {
    const headers = this.#headersFor(rest.answer ?? {}, cellId)
    headers['content-length'] = rest.bytes
    this.#response.writeHead(status, headers)
    if (rest.bytes > FREE_BYTES) this.#sendLarge(rest)
    else this.#sendSmall(status, rest.take())
  }

  /** Head and body leave as one piece of text, which saves half of the cost of writing. */
  #sendSmall(status: number, body: Buffer): void {
    const code = status === 200 ? undefined : codeOf(body)
    if (code !== undefined) this.#parts.onError?.(code)
    // one character for one byte, so the bytes stay what they are
    this.#response.end(body.toString('latin1'), 'latin1')
  }

  #sendLarge(rest: AnswerRest): void {
    rest.hold.passTo(this)
    rest.hold.watch(CLIENT_SWEEPS)
    this.#response.once('close', () => rest.discard())
    this.#sendRound(rest)
  }

  #sendRound(rest: AnswerRest): void {
    const response = this.#response
    let bytes = 0
    response.cork()
    while (bytes < ROUND_BYTES && rest.bytes > 0) {
      const piece = rest.shift() ?? EMPTY
      bytes += piece.length
      response.write(piece)
    }
    response.uncork()
    if (rest.bytes === 0) response.end()
    else
      response.once('drain', () => {
        rest.hold.give(bytes)
        this.#sendRound(rest)
      })
  }

  /** An error of ours, where no cell's answer is given. */
  refuse(error: ShoalError): void {
    if (this.isGone) return
    this.#parts.onError?.(error.code)
    const body = JSON.stringify(errorBody(error))
    const { retryAfterSeconds } = error
    this.#response.writeHead(httpStatus(error.code), {
      ...this.#parts.headers,
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
    })
    this.#response.end(body)
  }

  #headersFor(answer: AnswerHeaders, cellId: string): OutgoingHttpHeaders {
    const headers: OutgoingHttpHeaders = { ...this.#parts.headers, [HEADER_CELL]: cellId }
    for (const name of PASSED_ON) if (answer[name] !== undefined) headers[name] = answer[name]
    return headers
  }
}
