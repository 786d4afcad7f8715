import { readAnswerHead } from './answer-head.ts'
import { writePing, writeWindowUpdate } from './control-frames.ts'
import { CODE, Malformed, SessionFault } from './fault.ts'
import { FLAG, FRAME, type FrameSink, uint31At, withoutPadding } from './frames.ts'
import { HeaderBlock } from './header-block.ts'
import type { Output } from './output.ts'
import type { Stream } from './stream.ts'

/** What a session does about frames. All may throw a SessionFault. */
export interface ReceivingOwner {
  /** Undefined when it has ended; throws for one that never was. */
  stream(id: number): Stream | undefined
  greeted(): void
  /** Takes over settings, and says so. */
  settings(bytes: Buffer, start: number, end: number): void
  /** The peer takes so much more on a stream, or on all (0). */
  widen(id: number, bytes: number): void
  reset(stream: Stream, code: number): void
  /** The peer has ended it. */
  cut(stream: Stream): void
  pong(payload: Buffer): void
  goneAway(lastId: number, code: number): void
  idle(): void
}

/** Room for many streams: one that is not read is held back by its own window. */
export const SESSION_WINDOW_BYTES = 64 * 1024 * 1024

/** What the frames of a server say, each checked against RFC 9113, section 6. */
export class Receiving implements FrameSink {
  readonly #owner: ReceivingOwner
  readonly #output: Output
  #isGreeted = false
  /** A block of headers that goes on with the next frame. */
  #block: HeaderBlock | undefined
  #window = SESSION_WINDOW_BYTES

  constructor(owner: ReceivingOwner, output: Output) {
    this.#owner = owner
    this.#output = output
  }

  frame(type: number, flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if (!this.#isGreeted && (type !== FRAME.settings || flags & FLAG.ack))
      throw broken('does not begin with its settings')
    if (this.#block !== undefined && type !== FRAME.continuation)
      throw broken('has not ended a block of headers')
    if (type === FRAME.data) this.#data(flags, id, bytes, start, end)
    else if (type === FRAME.headers) this.#headers(flags, id, bytes, start, end)
    else if (type === FRAME.continuation) this.#continuation(flags, id, bytes, start, end)
    else if (type === FRAME.windowUpdate) this.#windowUpdate(id, bytes, start, end)
    else if (type === FRAME.reset) this.#reset(id, bytes, start, end)
    else if (type === FRAME.settings) this.#settings(flags, id, bytes, start, end)
    else if (type === FRAME.ping) this.#ping(flags, id, bytes, start, end)
    else if (type === FRAME.goAway) this.#goAway(id, bytes, start, end)
    else if (type === FRAME.pushPromise) throw broken('pushes')
    else this.#owner.idle()
  }

  #data(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    const length = end - start
    const [from, to] = withoutPadding(flags, bytes, start, end)
    this.#received(length)
    this.#owner.stream(id)?.data(bytes, from, to, length, (flags & FLAG.endStream) !== 0)
  }

  /** All that comes is taken at once; only streams are held back. */
  #received(length: number): void {
    this.#window -= length
    if (this.#window > SESSION_WINDOW_BYTES / 2) return
    writeWindowUpdate(this.#output, 0, SESSION_WINDOW_BYTES - this.#window)
    this.#window = SESSION_WINDOW_BYTES
  }

  #headers(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    const [at, to] = withoutPadding(flags, bytes, start, end)
    const from = flags & FLAG.priority ? at + 5 : at
    if (from > to) throw new SessionFault(CODE.frameSize, 'a head that is too short')
    const isEnd = (flags & FLAG.endStream) !== 0
    const stream = this.#owner.stream(id)
    if (flags & FLAG.endHeaders) this.#told(stream, bytes, from, to, isEnd)
    else {
      this.#block = new HeaderBlock(id, isEnd)
      this.#block.add(bytes.subarray(from, to))
    }
  }

  #continuation(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    const block = this.#block
    if (block?.id !== id) throw broken('goes on with what it has not begun')
    block.add(bytes.subarray(start, end))
    if ((flags & FLAG.endHeaders) === 0) return
    this.#block = undefined
    const whole = block.whole()
    this.#told(this.#owner.stream(id), whole, 0, whole.length, block.isEnd)
  }

  /** Blocks do not depend on each other: that of a stream which has ended need not be read. */
  #told(stream: Stream | undefined, bytes: Buffer, start: number, end: number, isEnd: boolean) {
    if (stream === undefined) {
      this.#owner.idle()
      return
    }
    try {
      stream.block(readAnswerHead(bytes, start, end), isEnd)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      this.#owner.reset(stream, CODE.protocol)
    }
  }

  #windowUpdate(id: number, bytes: Buffer, start: number, end: number): void {
    lengthIs(end - start === 4)
    const more = uint31At(bytes, start)
    if (more === 0) throw broken('gives a window of nothing')
    this.#owner.widen(id, more)
  }

  #reset(id: number, _bytes: Buffer, start: number, end: number): void {
    lengthIs(end - start === 4)
    const stream = this.#owner.stream(id)
    if (stream === undefined) this.#owner.idle()
    else this.#owner.cut(stream)
  }

  #settings(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if (id !== 0) throw broken('tells settings of a stream')
    this.#owner.idle()
    if (flags & FLAG.ack) {
      lengthIs(start === end)
      return
    }
    this.#owner.settings(bytes, start, end)
    if (this.#isGreeted) return
    this.#isGreeted = true
    this.#owner.greeted()
  }

  #ping(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    lengthIs(end - start === 8)
    if (id !== 0) throw broken('pings on a stream')
    this.#owner.idle()
    const payload = bytes.subarray(start, end)
    if (flags & FLAG.ack) this.#owner.pong(payload)
    else writePing(this.#output, payload, true)
  }

  #goAway(id: number, bytes: Buffer, start: number, end: number): void {
    lengthIs(end - start >= 8)
    if (id !== 0) throw broken('leaves on a stream')
    this.#owner.idle()
    this.#owner.goneAway(uint31At(bytes, start), bytes.readUInt32BE(start + 4))
  }
}

const broken = (what: string): SessionFault => new SessionFault(CODE.protocol, `the cell ${what}`)

const lengthIs = (isRight: boolean): void => {
  if (!isRight) throw new SessionFault(CODE.frameSize, 'a frame of the wrong length')
}
