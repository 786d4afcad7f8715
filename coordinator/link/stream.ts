import type { AnswerHeaders, AnswerListener, CellRequest, CellStream } from '../fleet/cell-link.ts'
import type { AnswerHead } from './answer-head.ts'
import { CODE } from './fault.ts'
import { FIRST_WINDOW_BYTES, MAX_WINDOW_BYTES } from './peer-settings.ts'
import type { Sender } from './sending.ts'

/** What a stream needs of its session. */
export interface StreamOwner {
  /** Pings so far: the clock of silence. */
  readonly beats: number
  /** Ends a stream before its time and tells the peer. */
  reset(stream: Stream, code: number): void
  /** Lets go of a stream that came to its end. */
  ended(stream: Stream): void
  giveWindow(stream: Stream, bytes: number): void
  /** A frame that carries nothing. @throws SessionFault when there are too many */
  idle(): void
}

/** The window of a stream; what is not read is kept up to that. */
const WINDOW_BYTES = FIRST_WINDOW_BYTES

/** One request to a cell, and its answer as it comes. */
export class Stream implements CellStream, Sender {
  readonly #owner: StreamOwner
  readonly #listener: AnswerListener
  /** 0 while the peer takes no more streams. */
  id = 0
  /** Until it was sent. */
  request: CellRequest | undefined
  unsent: Buffer | undefined
  sendWindow = 0
  /** Of the session's beats, when something came last. */
  #heardAt: number
  /** What the cell may send still. */
  #window = WINDOW_BYTES
  #isPaused = false
  #hasHead = false
  #isClosed = false
  /** What is to come by `content-length`; not a number when it was not said. */
  #expected = Number.NaN

  constructor(owner: StreamOwner, request: CellRequest, listener: AnswerListener) {
    this.#owner = owner
    this.request = request
    this.#listener = listener
    this.#heardAt = owner.beats
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    if (!this.#isClosed) this.#refill()
  }

  cancel(): void {
    this.#owner.reset(this, CODE.cancel)
  }

  /** It was sent, as far as its head. */
  started(windowBytes: number, body: Buffer | undefined): void {
    this.request = undefined
    this.sendWindow = windowBytes
    this.unsent = body
  }

  /** The peer takes so much more, or less. False when that ends the stream. */
  widen(bytes: number): boolean {
    this.sendWindow += bytes
    if (this.sendWindow <= MAX_WINDOW_BYTES) return true
    this.#owner.reset(this, CODE.flowControl)
    return false
  }

  /** @param silentBeats after so many without a frame the listener is told */
  beat(silentBeats: number): void {
    if (this.#owner.beats - this.#heardAt < silentBeats) return
    this.#heardAt = this.#owner.beats
    this.#listener.silent()
  }

  /** A block of headers has come: the head, something before it, or the trailers. */
  block({ status, headers }: AnswerHead, isEnd: boolean): void {
    this.#heardAt = this.#owner.beats
    if (this.#hasHead) {
      if (isEnd && status === undefined) this.#trailers(headers)
      else this.#fail()
    } else if (status === undefined || status === 101) this.#fail()
    else if (status < 200) {
      if (isEnd) this.#fail()
      else this.#owner.idle()
    } else {
      this.#hasHead = true
      // the length of another answer, that the client has already (RFC 9110, section 8.6)
      if (status !== 304) this.#expected = Number(headers['content-length'] ?? Number.NaN)
      this.#listener.head(status, headers)
      if (isEnd) this.#end()
    }
  }

  #trailers(headers: AnswerHeaders): void {
    this.#listener.trailers(headers)
    this.#end()
  }

  /** @param frameBytes with the padding, which counts */
  data(bytes: Buffer, start: number, end: number, frameBytes: number, isEnd: boolean): void {
    this.#heardAt = this.#owner.beats
    if (!this.#hasHead) this.#fail()
    else if (frameBytes > this.#window) this.#owner.reset(this, CODE.flowControl)
    else this.#take(bytes, start, end, frameBytes, isEnd)
  }

  #take(bytes: Buffer, start: number, end: number, frameBytes: number, isEnd: boolean): void {
    this.#window -= frameBytes
    this.#expected -= end - start
    if (end > start) this.#listener.data(bytes.subarray(start, end))
    else if (!isEnd) this.#owner.idle()
    if (this.#isClosed) return
    if (isEnd) this.#end()
    else this.#refill()
  }

  /** Tells the listener, once. */
  close(isWhole: boolean): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.request = undefined
    this.#listener.closed(isWhole)
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** What is half used is filled: fewer frames, and the cell never waits. */
  #refill(): void {
    if (this.#isPaused || this.#window > WINDOW_BYTES / 2) return
    this.#owner.giveWindow(this, WINDOW_BYTES - this.#window)
    this.#window = WINDOW_BYTES
  }

  #end(): void {
    if (this.#isClosed) return
    // RFC 9113, section 8.1.1
    if (Math.abs(this.#expected) > 0) {
      this.#fail()
      return
    }
    this.#owner.ended(this)
    this.close(true)
  }

  #fail(): void {
    this.#owner.reset(this, CODE.protocol)
  }
}
