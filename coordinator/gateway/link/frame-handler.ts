import { readAnswerHead } from './answer-head.ts'
import { writePing, writeWindowUpdate } from './control-frames.ts'
import { ERROR_CODE, SessionFault, StreamFault } from './fault.ts'
import type { FrameCredit } from './frame-credit.ts'
import type { FrameOutput } from './frame-output.ts'
import { FLAG, FRAME, type FrameSink, readUint31, stripPadding } from './frames.ts'
import { HeaderBlock } from './header-block.ts'
import type { LinkStream } from './link-stream.ts'

/** Session methods that a frame handler calls. Every method may throw a SessionFault. */
export interface FrameHandlerOwner {
  /** Returns undefined for a stream that has ended; throws for one that was never opened. */
  findStream(id: number): LinkStream | undefined
  /** The first settings of the peer have been applied. */
  onReady(): void
  /** Applies settings and acknowledges them. */
  applySettings(bytes: Buffer, start: number, end: number): void
  /** Widens the send window of a stream, or of the session (0). */
  widenWindow(id: number, bytes: number): void
  resetStream(stream: LinkStream, code: number): void
  /** Closes a stream that the peer has reset. */
  cutStream(stream: LinkStream): void
  onPong(payload: Buffer): void
  onGoAway(lastId: number, code: number): void
}

/** Window for many streams: one that is not read is held back by its own window. */
export const SESSION_WINDOW_BYTES = 64 * 1024 * 1024

/** Handles the frames of a server; checks each of them against RFC 9113, section 6. */
export class FrameHandler implements FrameSink {
  readonly #owner: FrameHandlerOwner
  readonly #output: FrameOutput
  readonly #credit: FrameCredit
  #isReady = false
  /** A header block that continues with the next frame. */
  #block: HeaderBlock | undefined
  #window = SESSION_WINDOW_BYTES

  constructor(owner: FrameHandlerOwner, output: FrameOutput, credit: FrameCredit) {
    this.#owner = owner
    this.#output = output
    this.#credit = credit
  }

  handleFrame(
    type: number,
    flags: number,
    id: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): boolean {
    this.#credit.chargeFrame(end - start)
    if (!this.#isReady && (type !== FRAME.settings || flags & FLAG.ack))
      throw protocolFault('does not begin with its settings')
    if (this.#block !== undefined && type !== FRAME.continuation)
      throw protocolFault('has not ended a header block')
    if (type === FRAME.data) return this.#onData(flags, id, bytes, start, end)
    if (type === FRAME.headers) this.#onHeaders(flags, id, bytes, start, end)
    else if (type === FRAME.continuation) this.#onContinuation(flags, id, bytes, start, end)
    else if (type === FRAME.windowUpdate) this.#onWindowUpdate(id, bytes, start, end)
    else if (type === FRAME.reset) this.#onReset(id, bytes, start, end)
    else if (type === FRAME.settings) this.#onSettings(flags, id, bytes, start, end)
    else if (type === FRAME.ping) this.#onPing(flags, id, bytes, start, end)
    else if (type === FRAME.goAway) this.#onGoAway(id, bytes, start, end)
    else if (type === FRAME.pushPromise) throw protocolFault('pushes a stream')
    return false
  }

  #onData(flags: number, id: number, bytes: Buffer, start: number, end: number): boolean {
    const length = end - start
    const [from, to] = stripPadding(flags, bytes, start, end)
    this.#refillSession(length)
    const stream = this.#owner.findStream(id)
    if (stream === undefined) {
      this.#credit.earnLate(to - from)
      return true
    }
    this.#credit.earnAnswer(to - from)
    return stream.handleData(bytes, from, to, length, (flags & FLAG.endStream) !== 0)
  }

  /** Everything is consumed at once, so only streams hold the cell back, never the session. */
  #refillSession(length: number): void {
    this.#window -= length
    if (this.#window > SESSION_WINDOW_BYTES / 2) return
    writeWindowUpdate(this.#output, 0, SESSION_WINDOW_BYTES - this.#window)
    this.#window = SESSION_WINDOW_BYTES
  }

  #onHeaders(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    const [at, to] = stripPadding(flags, bytes, start, end)
    const from = flags & FLAG.priority ? at + 5 : at
    if (from > to) throw new SessionFault(ERROR_CODE.frameSize, 'a HEADERS frame that is too short')
    const isEnd = (flags & FLAG.endStream) !== 0
    const stream = this.#owner.findStream(id)
    if (flags & FLAG.endHeaders) this.#handleBlock(stream, bytes, from, to, isEnd)
    else {
      this.#block = new HeaderBlock(id, isEnd)
      this.#block.add(bytes.subarray(from, to))
    }
  }

  #onContinuation(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    const block = this.#block
    if (block?.id !== id) throw protocolFault('continues a header block that it has not begun')
    block.add(bytes.subarray(start, end))
    if ((flags & FLAG.endHeaders) === 0) return
    this.#block = undefined
    const whole = block.join()
    this.#handleBlock(this.#owner.findStream(id), whole, 0, whole.length, block.isEnd)
  }

  /** A block of a stream that has ended is skipped, since no other block depends on it. */
  #handleBlock(
    stream: LinkStream | undefined,
    bytes: Buffer,
    start: number,
    end: number,
    isEnd: boolean,
  ) {
    if (stream === undefined) return
    try {
      stream.handleBlock(readAnswerHead(bytes, start, end), isEnd)
    } catch (error) {
      if (!(error instanceof StreamFault)) throw error
      this.#owner.resetStream(stream, ERROR_CODE.protocol)
    }
  }

  #onWindowUpdate(id: number, bytes: Buffer, start: number, end: number): void {
    requireLength(end - start === 4)
    const more = readUint31(bytes, start)
    if (more === 0) throw protocolFault('widens a window by 0 bytes')
    this.#owner.widenWindow(id, more)
  }

  #onReset(id: number, _bytes: Buffer, start: number, end: number): void {
    requireLength(end - start === 4)
    const stream = this.#owner.findStream(id)
    if (stream !== undefined) this.#owner.cutStream(stream)
  }

  #onSettings(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if (id !== 0) throw protocolFault('sends settings on a stream')
    if (flags & FLAG.ack) {
      requireLength(start === end)
      return
    }
    this.#owner.applySettings(bytes, start, end)
    if (this.#isReady) return
    this.#isReady = true
    this.#owner.onReady()
  }

  #onPing(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    requireLength(end - start === 8)
    if (id !== 0) throw protocolFault('pings on a stream')
    const payload = bytes.subarray(start, end)
    if (flags & FLAG.ack) this.#owner.onPong(payload)
    else writePing(this.#output, payload, true)
  }

  #onGoAway(id: number, bytes: Buffer, start: number, end: number): void {
    requireLength(end - start >= 8)
    if (id !== 0) throw protocolFault('sends GOAWAY on a stream')
    this.#owner.onGoAway(readUint31(bytes, start), bytes.readUInt32BE(start + 4))
  }
}

const protocolFault = (what: string): SessionFault =>
  new SessionFault(ERROR_CODE.protocol, `the cell ${what}`)

const requireLength = (isRight: boolean): void => {
  if (!isRight) throw new SessionFault(ERROR_CODE.frameSize, 'a frame of the wrong length')
}
