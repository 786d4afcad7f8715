import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2'
import type { Socket } from 'node:net'
import type {
  AnswerHeaders,
  AnswerListener,
  CellLink,
  CellRequest,
  CellStream,
} from '../../../coordinator/fleet/cells/cell-link.ts'
import type { openLink } from '../../../coordinator/gateway/link/link.ts'
import { ShoalError } from '../../../shared/errors.ts'

type CellLinkOptions = Parameters<typeof openLink>[0]

const GREETING_MS = 5000
const MAX_HEAD_BYTES = 64 * 1024
const SESSION_WINDOW_BYTES = 64 * 1024 * 1024
/** Node ends a session that holds more, 10 MB by default. */
const MAX_MEMORY_MB = 1024
/** Overhead of one field in a header list (RFC 9113, section 6.5.2). */
const FIELD_BYTES = 32

/** A cell link over the HTTP/2 client of Node; it shows that `CellLink` can be implemented again. */
export const openNodeHttp2Link = (options: CellLinkOptions): CellLink => new NodeHttp2Link(options)

class NodeHttp2Link implements CellLink {
  readonly cellId: string
  readonly #options: CellLinkOptions
  readonly #session: ClientHttp2Session
  #roundTripMs: number | undefined
  #pings: NodeJS.Timeout | undefined
  #isPingOpen = false

  constructor(options: CellLinkOptions) {
    this.cellId = options.cellId
    this.#options = options
    this.#session = openSession(options.socket)
    const greeting = setTimeout(() => this.#session.destroy(), GREETING_MS)
    this.#session.once('remoteSettings', () => {
      clearTimeout(greeting)
      this.#pings = setInterval(() => this.#ping(), options.pingEveryMs)
      this.#ping()
      options.onUp(this)
    })
    this.#session.on('goaway', () => options.onDown(this))
    this.#session.on('error', error =>
      options.logger.info({ cell: this.cellId, reason: error.message }, 'link failed'),
    )
    this.#session.once('close', () => {
      clearTimeout(greeting)
      clearInterval(this.#pings)
      options.onDown(this)
    })
  }

  request(request: CellRequest, listener: AnswerListener): CellStream {
    if (!this.isOpen)
      throw new ShoalError('cell_unavailable', `the link to ${this.cellId} is closed`)
    return new NodeHttp2Stream(this.#session, request, listener)
  }

  get isOpen(): boolean {
    return !this.#session.closed && !this.#session.destroyed
  }

  roundTripMs(): number | undefined {
    return this.#roundTripMs
  }

  close(): void {
    this.#session.destroy()
  }

  #ping(): void {
    if (this.#isPingOpen) {
      // timers run before sockets: after a stall the answer may have arrived without being read yet
      setImmediate(() => this.#judgePing())
      return
    }
    this.#isPingOpen = true
    this.#session.ping((error, milliseconds) => {
      if (error !== null) return
      this.#isPingOpen = false
      this.#roundTripMs = milliseconds
    })
  }

  #judgePing(): void {
    if (!this.#isPingOpen) return
    this.#session.destroy(new Error(`no answer to a ping within ${this.#options.pingEveryMs} ms`))
  }
}

const openSession = (socket: Socket): ClientHttp2Session => {
  const session = connect('http://cell', {
    createConnection: () => socket,
    maxSessionMemory: MAX_MEMORY_MB,
    maxHeaderListPairs: MAX_HEAD_BYTES / FIELD_BYTES,
    maxSendHeaderBlockLength: 2 * MAX_HEAD_BYTES,
    settings: { enablePush: false, maxHeaderListSize: MAX_HEAD_BYTES },
  })
  session.once('connect', () => session.setLocalWindowSize(SESSION_WINDOW_BYTES))
  return session
}

class NodeHttp2Stream implements CellStream {
  readonly #stream: ClientHttp2Stream
  readonly #listener: AnswerListener
  #trailers: AnswerHeaders | undefined
  #isClosed = false

  constructor(session: ClientHttp2Session, request: CellRequest, listener: AnswerListener) {
    const { method, path, headers = {}, body } = request
    const head = {
      ':method': method,
      ':path': path,
      ':authority': 'cell',
      ...withoutUndefined(headers),
    }
    if (sizeOf(head) > MAX_HEAD_BYTES)
      throw new ShoalError('headers_too_large', 'the head of a request to a cell is too large')
    this.#listener = listener
    this.#stream = session.request(head, { endStream: body === undefined || body.length === 0 })
    this.#follow()
    if (body !== undefined && body.length > 0) this.#stream.end(body)
  }

  get unsentBytes(): number {
    return this.#stream.pending ? Number.POSITIVE_INFINITY : this.#stream.writableLength
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    this.#stream.resume()
  }

  cancel(): void {
    this.#stream.close(constants.NGHTTP2_CANCEL)
    this.#close(false)
  }

  #follow(): void {
    const stream = this.#stream
    stream.on('response', headers => {
      if (sizeOf(headers) > MAX_HEAD_BYTES) this.cancel()
      if (!this.#isClosed) this.#listener.onHead(headers[':status'] ?? 0, answerHeaders(headers))
    })
    stream.on('data', piece => {
      if (!this.#isClosed) this.#listener.onData(piece)
    })
    stream.on('trailers', headers => {
      this.#trailers = answerHeaders(headers)
    })
    stream.on('end', () => this.#end())
    stream.on('error', () => {})
    stream.on('close', () => this.#close(false))
  }

  /** The rest of a request that was answered early is not sent (RFC 9113, section 8.1). */
  #end(): void {
    if (this.#isClosed || this.#stream.aborted || this.#stream.destroyed) return
    if (this.#trailers !== undefined) this.#listener.onTrailers(this.#trailers)
    this.#close(true)
    if (!this.#stream.writableFinished) this.#stream.close(constants.NGHTTP2_NO_ERROR)
  }

  #close(isWhole: boolean): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#listener.onClose(isWhole)
  }
}

const withoutUndefined = (headers: object): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined))

/** Size of a header list (RFC 9113, section 6.5.2). */
const sizeOf = (headers: object): number =>
  Object.entries(headers).reduce(
    (total, [name, value]) => total + name.length + String(value).length + FIELD_BYTES,
    0,
  )

/** The fields of a header block as `CellLink` has them: no pseudo-headers, values joined by commas. */
const answerHeaders = (headers: IncomingHttpHeaders): AnswerHeaders =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => !name.startsWith(':'))
      .map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  )
