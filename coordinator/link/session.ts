import type { Socket } from 'node:net'
import type { AnswerListener, CellRequest } from '../fleet/cell-link.ts'
import {
  writeGoAway,
  writeHeaders,
  writeHello,
  writePing,
  writeReset,
  writeSettingsAck,
  writeWindowUpdate,
} from './control-frames.ts'
import { CODE, SessionFault } from './fault.ts'
import { FrameReader } from './frames.ts'
import { Output } from './output.ts'
import { PeerSettings } from './peer-settings.ts'
import { Receiving, type ReceivingOwner, SESSION_WINDOW_BYTES } from './receiving.ts'
import { requestBlock, writeRequestHead } from './request-head.ts'
import { Sending } from './sending.ts'
import { Stream, type StreamOwner } from './stream.ts'

export interface SessionEvents {
  /** The peer has told its settings: requests may be made. */
  greeted(): void
  /** No more requests may be made; those that there are may end. */
  leaving(): void
  pong(payload: Buffer): void
  /** Told before any stream is. Without a reason it was wanted. */
  closed(reason: Error | undefined): void
}

/** The last id that a stream can have, RFC 9113, section 5.1.1. */
const MAX_ID = 2 ** 31 - 1
/** Frames that carry nothing, between two beats: more are there to hold us up. */
const MAX_IDLE_FRAMES = 10_000
/** So many more are in order: empty data before the trailers, and a reset after an early answer. */
const IDLE_FRAMES_OF_A_REQUEST = 4

/**
 * The client's side of an HTTP/2 session (RFC 9113) over a socket, as far as the coordinator needs
 * it: no pushes, no priorities, and no table of headers. What it asks goes out at the end of the turn
 * of the event loop.
 */
export class Session implements StreamOwner, ReceivingOwner {
  readonly #socket: Socket
  readonly #events: SessionEvents
  readonly #output: Output
  readonly #sending: Sending
  readonly #reader: FrameReader
  readonly #peer = new PeerSettings()
  readonly #streams = new Map<number, Stream>()
  /** Those for which the peer has no room yet. */
  readonly #waiting = new Set<Stream>()
  #nextId: number
  #hasAsked = false
  #isLeaving = false
  #isDone = false
  #idleFrames = 0
  beats = 0

  /** @param firstId of the first stream; odd */
  constructor(socket: Socket, events: SessionEvents, firstId = 1) {
    this.#socket = socket
    this.#events = events
    this.#nextId = firstId
    this.#output = new Output(socket)
    this.#sending = new Sending(this.#output, this.#peer)
    this.#reader = new FrameReader(new Receiving(this, this.#output))
    writeHello(this.#output, SESSION_WINDOW_BYTES)
    socket.on('data', piece => this.#read(piece))
    socket.on('error', error => this.destroy(error))
    socket.once('end', () => this.destroy())
    socket.once('close', () => this.destroy())
  }

  get isOpen(): boolean {
    return !this.#isLeaving && !this.#isDone
  }

  /** Only while `isOpen`. @throws ShoalError headers_too_large */
  request(request: CellRequest, listener: AnswerListener): Stream {
    const stream = new Stream(this, request, listener)
    if (this.#hasRoom) this.#start(stream, request)
    else this.#wait(stream, request)
    return stream
  }

  #wait(stream: Stream, request: CellRequest): void {
    // what is too large is refused now: later there is nobody to tell
    writeRequestHead(request, true)
    this.#waiting.add(stream)
  }

  /** @param payload 8 bytes, which come back with `pong` */
  ping(payload: Buffer): void {
    writePing(this.#output, payload, false)
  }

  /** @param silentBeats after so many without a frame a stream is told of it */
  beat(silentBeats: number): void {
    this.beats++
    this.#idleFrames = 0
    for (const streams of [this.#streams.values(), this.#waiting])
      for (const stream of streams) stream.beat(silentBeats)
  }

  /** Ends everything at once; the peer is told why, if it still listens. */
  destroy(reason?: Error): void {
    if (this.#isDone) return
    this.#isDone = true
    this.#reader.stop()
    if (!this.#socket.destroyed) {
      writeGoAway(this.#output, reason instanceof SessionFault ? reason.code : CODE.none)
      this.#output.flush()
      this.#socket.destroy()
    }
    this.#events.closed(reason)
    for (const streams of [this.#streams.values(), this.#waiting])
      for (const stream of streams) stream.close(false)
    this.#streams.clear()
    this.#waiting.clear()
  }

  #read(piece: Buffer): void {
    try {
      this.#reader.read(piece)
    } catch (error) {
      this.destroy(error as Error)
    }
  }

  get #hasRoom(): boolean {
    return this.#streams.size < this.#peer.maxStreams
  }

  #start(stream: Stream, request: CellRequest): void {
    const length = writeRequestHead(request, !this.#hasAsked)
    const { body } = request
    const hasBody = body !== undefined && body.length > 0
    this.#hasAsked = true
    this.#idleFrames -= IDLE_FRAMES_OF_A_REQUEST
    stream.id = this.#nextId
    this.#nextId += 2
    this.#streams.set(stream.id, stream)
    writeHeaders(this.#output, stream.id, requestBlock, length, !hasBody)
    stream.started(this.#peer.windowBytes, hasBody ? body : undefined)
    if (hasBody) this.#sending.start(stream)
    if (this.#nextId > MAX_ID) this.#leave()
  }

  /** Its requests go elsewhere from here on; it ends with the last answer that is under way. */
  #leave(): void {
    if (!this.isOpen) return
    this.#isLeaving = true
    this.#events.leaving()
    for (const stream of this.#waiting) stream.close(false)
    this.#waiting.clear()
    if (this.#streams.size === 0) this.destroy()
  }

  #drop(stream: Stream): void {
    this.#sending.forget(stream)
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

  // for its streams

  reset(stream: Stream, code: number): void {
    if (stream.isClosed) return
    if (stream.id > 0) writeReset(this.#output, stream.id, code)
    this.cut(stream)
  }

  /** The rest of a request that was answered already is not wanted (RFC 9113, section 8.1). */
  ended(stream: Stream): void {
    if (stream.unsent !== undefined) writeReset(this.#output, stream.id, CODE.none)
    this.#drop(stream)
  }

  giveWindow(stream: Stream, bytes: number): void {
    writeWindowUpdate(this.#output, stream.id, bytes)
  }

  idle(): void {
    if (++this.#idleFrames > MAX_IDLE_FRAMES)
      throw new SessionFault(CODE.calm, 'too many frames that carry nothing')
  }

  // for what comes in

  stream(id: number): Stream | undefined {
    const stream = this.#streams.get(id)
    // one that was, may be spoken of still
    if (stream === undefined && (id % 2 === 0 || id >= this.#nextId))
      throw new SessionFault(CODE.protocol, 'a frame on a stream that was not opened')
    return stream
  }

  cut(stream: Stream): void {
    this.#drop(stream)
    stream.close(false)
  }

  greeted(): void {
    this.#events.greeted()
  }

  pong(payload: Buffer): void {
    this.#events.pong(payload)
  }

  settings(bytes: Buffer, start: number, end: number): void {
    const before = this.#peer.windowBytes
    this.#peer.read(bytes, start, end)
    // they hold for the peer from there on, so before anything that makes use of them
    writeSettingsAck(this.#output)
    const more = this.#peer.windowBytes - before
    if (more !== 0) for (const stream of this.#streams.values()) stream.widen(more)
    this.#sending.goOn()
    this.#startWaiting()
  }

  /** @throws SessionFault when the window becomes too large */
  widen(id: number, bytes: number): void {
    if (id === 0) this.#sending.widen(bytes)
    else if (this.stream(id)?.widen(bytes)) this.#sending.goOn()
  }

  /** Streams after the last one were never looked at. */
  goneAway(lastId: number, code: number): void {
    if (code !== CODE.none)
      throw new SessionFault(CODE.none, `the cell has ended the session with code ${code}`)
    this.#leave()
    for (const stream of this.#streams.values()) if (stream.id > lastId) this.cut(stream)
  }
}
