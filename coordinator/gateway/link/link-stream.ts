import type {
  AnswerHeaders,
  AnswerListener,
  CellRequest,
  CellStream,
} from '../../fleet/cells/cell-link.ts'
import type { DecodedHead } from './answer-head.ts'
import type { SendingStream } from './body-sender.ts'
import { ERROR_CODE } from './fault.ts'
import { FIRST_WINDOW_BYTES, MAX_WINDOW_BYTES } from './peer-settings.ts'

/** Session methods that a stream calls. */
export interface LinkStreamOwner {
  /** Resets a stream on the peer and closes it. */
  resetStream(stream: LinkStream, code: number): void
  /** Releases a stream whose answer is whole. */
  releaseStream(stream: LinkStream): void
  sendWindowUpdate(stream: LinkStream, bytes: number): void
}

/** Receive window of a stream. */
const WINDOW_BYTES = FIRST_WINDOW_BYTES

/** One request to a cell and its answer as it arrives. */
export class LinkStream implements CellStream, SendingStream {
  readonly #owner: LinkStreamOwner
  readonly #listener: AnswerListener
  /** Stream id; 0 while the request waits for a free stream. */
  id = 0
  /** The request until its head is sent. */
  request: CellRequest | undefined
  unsent: Buffer | undefined
  sendWindow = 0
  #window = WINDOW_BYTES
  #isPaused = false
  #hasHead = false
  #isClosed = false
  /** Bytes still to come by `content-length`; NaN when the cell did not send it. */
  #expected = Number.NaN

  constructor(owner: LinkStreamOwner, request: CellRequest, listener: AnswerListener) {
    this.#owner = owner
    this.request = request
    this.#listener = listener
  }

  get unsentBytes(): number {
    return this.id === 0 ? Number.POSITIVE_INFINITY : (this.unsent?.length ?? 0)
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    if (!this.#isClosed) this.#refill()
  }

  cancel(): void {
    this.#owner.resetStream(this, ERROR_CODE.cancel)
  }

  /** Notes that the head was sent. */
  setStarted(windowBytes: number, body: Buffer | undefined): void {
    this.request = undefined
    this.sendWindow = windowBytes
    this.unsent = body
  }

  /** Changes the send window. Returns false when that ends the stream. */
  widenWindow(bytes: number): boolean {
    this.sendWindow += bytes
    if (this.sendWindow <= MAX_WINDOW_BYTES) return true
    this.#owner.resetStream(this, ERROR_CODE.flowControl)
    return false
  }

  beat(everyMs: number, isLate: boolean): void {
    this.#listener.onBeat?.(everyMs, isLate)
  }

  /** Handles a header block: an interim head, the head or the trailers. */
  handleBlock({ status, headers }: DecodedHead, isEnd: boolean): void {
    if (this.#hasHead) {
      if (isEnd && status === undefined) this.#endWithTrailers(headers)
      else this.#fail()
    } else if (status === undefined || status === 101) this.#fail()
    else if (status < 200) {
      if (isEnd) this.#fail()
    } else {
      this.#hasHead = true
      // a 304 carries the length of the cached answer (RFC 9110, section 8.6)
      if (status !== 304) this.#expected = Number(headers['content-length'] ?? Number.NaN)
      this.#listener.onHead(status, headers)
      if (isEnd) this.#end()
    }
  }

  #endWithTrailers(headers: AnswerHeaders): void {
    this.#listener.onTrailers(headers)
    this.#end()
  }

  /**
   * Returns true when nobody needs the bytes any longer.
   * @param frameBytes size of the payload with its padding, which counts against the window
   */
  handleData(
    bytes: Buffer,
    start: number,
    end: number,
    frameBytes: number,
    isEnd: boolean,
  ): boolean {
    if (!this.#hasHead) this.#fail()
    else if (frameBytes > this.#window) this.#owner.resetStream(this, ERROR_CODE.flowControl)
    else return this.#takeData(bytes, start, end, frameBytes, isEnd)
    return true
  }

  #takeData(
    bytes: Buffer,
    start: number,
    end: number,
    frameBytes: number,
    isEnd: boolean,
  ): boolean {
    this.#window -= frameBytes
    this.#expected -= end - start
    const isDone = end === start || this.#listener.onData(bytes.subarray(start, end))
    if (this.#isClosed) return isDone
    if (isEnd) this.#end()
    else this.#refill()
    return isDone
  }

  /** Ends the stream and notifies the listener, once. */
  close(isWhole: boolean): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.request = undefined
    this.#listener.onClose(isWhole)
  }

  /** Bytes that the cell may still send. */
  get receiveWindow(): number {
    return this.#window
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Refills a window that is half used: few frames, and the cell never waits. */
  #refill(): void {
    if (this.#isPaused || this.#window > WINDOW_BYTES / 2) return
    this.#owner.sendWindowUpdate(this, WINDOW_BYTES - this.#window)
    this.#window = WINDOW_BYTES
  }

  #end(): void {
    if (this.#isClosed) return
    // an answer of another length than announced is malformed (RFC 9113, section 8.1.1)
    if (Math.abs(this.#expected) > 0) {
      this.#fail()
      return
    }
    this.#owner.releaseStream(this)
    this.close(true)
  }

  #fail(): void {
    this.#owner.resetStream(this, ERROR_CODE.protocol)
  }
}
