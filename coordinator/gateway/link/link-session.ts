import type { Socket } from 'node:net'
import { ShoalError } from '../../../shared/errors.ts'
import type { AnswerListener, CellRequest } from '../../fleet/cells/cell-link.ts'
import { BodySender } from './body-sender.ts'
import {
  writeGoAway,
  writeHeaders,
  writePing,
  writePreface,
  writeReset,
  writeSettingsAck,
  writeWindowUpdate,
} from './control-frames.ts'
import { ERROR_CODE, SessionFault } from './fault.ts'
import { FrameCredit } from './frame-credit.ts'
import { FrameHandler, type FrameHandlerOwner, SESSION_WINDOW_BYTES } from './frame-handler.ts'
import { FrameOutput } from './frame-output.ts'
import { FrameReader } from './frames.ts'
import { LinkStream, type LinkStreamOwner } from './link-stream.ts'
import { PeerSettings } from './peer-settings.ts'
import { requestBlock, writeRequestHead } from './request-head.ts'

interface LinkSessionEvents {
  /** Peer settings received; requests may be sent. */
  onReady(): void
  /** The session takes no more requests; open ones may end. */
  onLeaving(): void
  onPong(payload: Buffer): void
  /** Runs before the streams close. Without a reason the end was intended. */
  onClosed(reason: Error | undefined): void
}

/** Largest stream id (RFC 9113, section 5.1.1). */
const MAX_ID = 2 ** 31 - 1

/**
 * The client side of an HTTP/2 session (RFC 9113) over a socket, as far as the coordinator needs it:
 * no pushes, no priorities and no dynamic header table. Frames are written at the end of the turn of
 * the event loop.
 */
export class LinkSession implements LinkStreamOwner, FrameHandlerOwner {
  readonly #socket: Socket
  readonly #events: LinkSessionEvents
  readonly #output: FrameOutput
  readonly #credit = new FrameCredit()
  readonly #sender: BodySender
  readonly #reader: FrameReader
  readonly #peer = new PeerSettings()
  readonly #streams = new Map<number, LinkStream>()
  /** Streams beyond the peer's limit. */
  readonly #waiting = new Set<LinkStream>()
  #nextId: number
  #hasRequested = false
  #isLeaving = false
  #isDone = false

  /** @param firstId id of the first stream; odd */
  constructor(socket: Socket, events: LinkSessionEvents, firstId = 1) {
    this.#socket = socket
    this.#events = events
    this.#nextId = firstId
    this.#output = new FrameOutput(socket)
    this.#sender = new BodySender(this.#output, this.#peer, this.#credit)
    this.#reader = new FrameReader(new FrameHandler(this, this.#output, this.#credit))
    writePreface(this.#output, SESSION_WINDOW_BYTES)
    socket.on('data', piece => this.#read(piece))
    socket.on('error', error => this.destroy(error))
    socket.once('end', () => this.destroy())
    socket.once('close', () => this.destroy())
  }

  get isOpen(): boolean {
    return !this.#isLeaving && !this.#isDone
  }

  /**
   * Opens a request; allowed only while `isOpen`.
   * @throws ShoalError headers_too_large, or cell_unavailable when the peer allows no stream at all
   */
  request(request: CellRequest, listener: AnswerListener): LinkStream {
    if (this.#peer.maxStreams === 0)
      throw new ShoalError('cell_unavailable', 'the cell takes no requests on its link')
    const stream = new LinkStream(this, request, listener)
    if (this.#hasRoom) this.#start(stream, request)
    else this.#wait(stream, request)
    return stream
  }

  #wait(stream: LinkStream, request: CellRequest): void {
    // a head that is too large is refused now: later nobody would catch the error
    writeRequestHead(request, true)
    this.#waiting.add(stream)
  }

  /** @param payload 8 bytes, which come back with `onPong` */
  ping(payload: Buffer): void {
    writePing(this.#output, payload, false)
  }

  /** Passes a beat on to every open request. @param isLate a ping was not answered in time */
  beat(everyMs: number, isLate: boolean): void {
    if (!isLate) this.#credit.fill()
    for (const streams of [this.#streams.values(), this.#waiting])
      for (const stream of streams) stream.beat(everyMs, isLate)
  }

  /** Ends the session and its streams at once; sends the reason to a peer that is still there. */
  destroy(reason?: Error): void {
    if (this.#isDone) return
    this.#isDone = true
    this.#reader.stop()
    if (!this.#socket.destroyed) {
      writeGoAway(this.#output, reason instanceof SessionFault ? reason.code : ERROR_CODE.none)
      this.#output.flush()
      this.#socket.destroy()
    }
    this.#events.onClosed(reason)
    for (const streams of [this.#streams.values(), this.#waiting])
      for (const stream of streams) stream.close(false)
    this.#streams.clear()
    this.#waiting.clear()
  }

  #read(piece: Buffer): void {
    try {
      this.#credit.chargePiece()
      this.#reader.read(piece)
    } catch (error) {
      this.destroy(error as Error)
    }
  }

  get #hasRoom(): boolean {
    return this.#streams.size < this.#peer.maxStreams
  }

  #start(stream: LinkStream, request: CellRequest): void {
    const length = writeRequestHead(request, !this.#hasRequested)
    const { body } = request
    const hasBody = body !== undefined && body.length > 0
    this.#hasRequested = true
    this.#credit.earnRequest()
    stream.id = this.#nextId
    this.#nextId += 2
    this.#streams.set(stream.id, stream)
    writeHeaders(this.#output, stream.id, requestBlock, length, !hasBody)
    stream.setStarted(this.#peer.windowBytes, hasBody ? body : undefined)
    if (hasBody) this.#sender.start(stream)
    if (this.#nextId > MAX_ID) this.#leave()
  }

  /** Takes no more requests; the session ends with its last open answer. */
  #leave(): void {
    if (!this.isOpen) return
    this.#isLeaving = true
    this.#events.onLeaving()
    for (const stream of this.#waiting) stream.close(false)
    this.#waiting.clear()
    if (this.#streams.size === 0) this.destroy()
  }

  #drop(stream: LinkStream): void {
    this.#sender.cancel(stream)
    this.#waiting.delete(stream)
    this.#streams.delete(stream.id)
    if (this.#waiting.size > 0) this.#startWaiting()
    else if (this.#isLeaving && this.#streams.size === 0) this.destroy()
  }

  #startWaiting(): void {
    for (const stream of this.#waiting) {
      if (!this.#hasRoom || stream.request === undefined) return
      this.#waiting.delete(stream)
      this.#start(stream, stream.request)
    }
  }

  // LinkStreamOwner

  resetStream(stream: LinkStream, code: number): void {
    if (stream.isClosed) return
    if (stream.id > 0) writeReset(this.#output, stream.id, code)
    // a cell whose fault the reset is gets no credit for what it sends after that
    if (stream.id > 0 && code === ERROR_CODE.cancel) this.#credit.grantLate(stream.receiveWindow)
    this.cutStream(stream)
  }

  /** Cancels the rest of a request that was answered early (RFC 9113, section 8.1). */
  releaseStream(stream: LinkStream): void {
    if (stream.unsent !== undefined) writeReset(this.#output, stream.id, ERROR_CODE.none)
    this.#drop(stream)
  }

  sendWindowUpdate(stream: LinkStream, bytes: number): void {
    writeWindowUpdate(this.#output, stream.id, bytes)
  }

  // FrameHandlerOwner

  findStream(id: number): LinkStream | undefined {
    const stream = this.#streams.get(id)
    // frames of a stream that has ended may still arrive
    if (stream === undefined && (id % 2 === 0 || id >= this.#nextId))
      throw new SessionFault(ERROR_CODE.protocol, 'a frame on a stream that was not opened')
    return stream
  }

  cutStream(stream: LinkStream): void {
    this.#drop(stream)
    stream.close(false)
  }

  onReady(): void {
    this.#events.onReady()
  }

  onPong(payload: Buffer): void {
    this.#events.onPong(payload)
  }

  applySettings(bytes: Buffer, start: number, end: number): void {
    const before = this.#peer.windowBytes
    this.#peer.read(bytes, start, end)
    // the peer applies them from the acknowledgement on, so it goes before any frame that relies on them
    writeSettingsAck(this.#output)
    const more = this.#peer.windowBytes - before
    if (more !== 0) for (const stream of this.#streams.values()) stream.widenWindow(more)
    this.#sender.sendWaiting()
    this.#startWaiting()
  }

  /** @throws SessionFault when the window becomes too large */
  widenWindow(id: number, bytes: number): void {
    if (id === 0) this.#sender.widenWindow(bytes)
    else if (this.findStream(id)?.widenWindow(bytes)) this.#sender.sendWaiting()
  }

  /** Streams above the last id were not processed. */
  onGoAway(lastId: number, code: number): void {
    if (code !== ERROR_CODE.none)
      throw new SessionFault(ERROR_CODE.none, `the cell ended the session with code ${code}`)
    this.#leave()
    for (const stream of this.#streams.values()) if (stream.id > lastId) this.cutStream(stream)
  }
}
