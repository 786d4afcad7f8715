import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { systemRuntime } from '../../../shared/runtime.ts'
import type { Share } from '../../kernel/budgets/budget.ts'
import type { RequestHandler } from './put-in-front.ts'

/** Requests that wait for the one before them; a connection with more is cut. */
const MAX_WAITING = 16

/**
 * Requests that wait, and bytes read since the first one does, from which on the socket is not read.
 * Up to there the end of the peer is noticed, and the work for it ends.
 */
const READ_WAITING = 8
const READ_BYTES = 16 * 1024

/** Property of a socket that has its connection: a lookup that costs a request next to nothing. */
const CONNECTION = Symbol('connection')

/** A socket with the private parts of Node's HTTP server and of its handle that are used here. */
interface ServerSocket {
  [CONNECTION]?: Connection
  parser?: { onIncoming: () => number } | null
  _handle?: { bytesWritten: number; writeQueueSize: number } | null
}

interface ConnectionParts {
  /** Network of the peer. */
  address: string
  /** Monotonic milliseconds. */
  nowMs: () => number
  /** Place among the connections. */
  share: Share
  handle: RequestHandler
  /** Runs when the socket closes or a cell has upgraded it; more than once for some. */
  onEnd: (connection: Connection) => void
}

/**
 * One accepted socket. It answers one request at a time, since HTTP/1.1 orders the answers anyway:
 * an answer that nobody reads holds up the requests behind it and nothing else. While many requests
 * wait, the socket is not read.
 */
export class Connection {
  readonly address: string
  readonly openedMs: number
  /** End of the last answer, or the opening before one, in monotonic milliseconds. */
  idleSinceMs: number
  /** True once a request on it had a valid key. */
  isKnown = false
  /** Response to the newest request, whether it waits or is answered. */
  newest: ServerResponse | undefined
  readonly #parts: ConnectionParts
  #socket: Socket
  /** True until the answer to the current request has closed. */
  #isAnswering = false
  readonly #waiting: [IncomingMessage, ServerResponse][] = []
  /** Bytes read when the first waiting request came. */
  #readBytes = 0
  /** Bytes that the peer had taken at the last progress, and the time of that. */
  #takenBytes = 0
  #progressMs: number | undefined

  constructor(socket: Socket, parts: ConnectionParts) {
    this.#parts = parts
    this.#socket = socket
    this.address = parts.address
    this.openedMs = parts.nowMs()
    this.idleSinceMs = this.openedMs
    this.secure(socket)
    socket.once('close', () => this.#end())
  }

  /** The encrypted socket takes the place of the raw one. */
  secure(socket: Socket): void {
    this.#socket = socket
    const found: ServerSocket = socket as ServerSocket
    found[CONNECTION] = this
  }

  /** Handles a request now, or after the ones before it. Returns false when too many wait. */
  take(request: IncomingMessage, response: ServerResponse): boolean {
    this.newest = response
    if (this.isIdle()) this.#begin(request, response)
    else if (this.#waiting.length === MAX_WAITING) return false
    else this.#keep(request, response)
    return true
  }

  /** True while no request is answered and none waits. */
  isIdle(): boolean {
    return !this.#isAnswering && this.#waiting.length === 0
  }

  /** True when what is read next stands behind a request that has no whole answer yet. */
  isBehindAnswer(): boolean {
    return this.#waiting.length > 0 || (this.#isAnswering && this.newest?.req.complete === true)
  }

  /** Requests that wait for the one before them. */
  get waiting(): number {
    return this.#waiting.length
  }

  /**
   * Returns the time without progress, in milliseconds: since the peer has last taken `minBytes` of
   * an answer, or had nothing to take.
   */
  measureStallMs(nowMs: number, minBytes: number): number {
    const { _handle: handle } = this.#socket as ServerSocket
    const queuedBytes = handle?.writeQueueSize ?? 0
    const takenBytes = (handle?.bytesWritten ?? 0) - queuedBytes
    const isRead = queuedBytes === 0 && this.#socket.writableLength === 0
    if (isRead || takenBytes - this.#takenBytes >= minBytes || this.#progressMs === undefined) {
      this.#takenBytes = takenBytes
      this.#progressMs = nowMs
    }
    return nowMs - this.#progressMs
  }

  /** Ends the connection at once, and the parser in the middle of the bytes that it was given. */
  cut(): void {
    const { parser } = this.#socket as ServerSocket
    // Node's parser would go on to the end of its 64 KiB, which can be a thousand requests; an
    // answer of 2, which announces an upgrade, makes it stop
    if (parser) parser.onIncoming = () => 2
    this.#waiting.length = 0
    this.#socket.destroy()
    this.#end()
  }

  /** Keeps the connection from making way while the credential of an upgrade is checked. */
  beginUpgrade(): void {
    this.#isAnswering = true
  }

  /** Leaves the socket to a cell's upgrade; requests that were sent before it are dropped. */
  release(): void {
    const found = this.#socket as ServerSocket
    delete found[CONNECTION]
    this.#waiting.length = 0
    Reflect.deleteProperty(this.#socket, 'resume')
    this.#end()
  }

  #end(): void {
    this.#parts.share.close()
    this.#parts.onEnd(this)
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    this.#isAnswering = true
    // `on` is cheaper than `once`, and a response closes once
    response.on('close', this.#onClose)
    this.#parts.handle(request, response)
  }

  #keep(request: IncomingMessage, response: ServerResponse): void {
    const { bytesRead } = this.#socket
    const waiting = this.#waiting.push([request, response])
    if (waiting === 1) this.#readBytes = bytesRead
    if (waiting >= READ_WAITING || bytesRead - this.#readBytes >= READ_BYTES) this.#stopReading()
  }

  /** One request of a connection runs in each turn of the loop, so that many delay no others. */
  #onClose = (): void => {
    this.#isAnswering = false
    this.idleSinceMs = this.#parts.nowMs()
    if (this.#waiting.length > 0) systemRuntime.setImmediate(this.#next)
  }

  #next = (): void => {
    const socket = this.#socket
    const next = socket.destroyed || socket.writableEnded ? undefined : this.#waiting.shift()
    if (next === undefined) {
      this.#waiting.length = 0
      return
    }
    if (this.#waiting.length === 0) this.#readOn()
    this.#begin(...next)
  }

  /** Node's HTTP server resumes a socket with every answer, which must have no effect meanwhile. */
  #stopReading(): void {
    const socket = this.#socket
    socket.pause()
    socket.resume = () => socket
  }

  #readOn(): void {
    Reflect.deleteProperty(this.#socket, 'resume')
    this.#socket.resume()
  }
}

/** The connection of a request's socket; undefined for a request that was injected. */
export const connectionOf = (socket: Socket): Connection | undefined =>
  (socket as ServerSocket)[CONNECTION]

/** Notes that a request on the socket had a valid key. */
export const noteKey = (socket: Socket): void => {
  const connection = connectionOf(socket)
  if (connection !== undefined) connection.isKnown = true
}
