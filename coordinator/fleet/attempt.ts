import {
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from 'node:http2'
import { ShoalError } from '../../shared/errors.ts'
import { HEADER_USAGE_SO_FAR, TRAILER_USAGE } from '../../shared/wire/link.ts'
import type { Usage } from '../../shared/wire/openai.ts'
import { isBusy, isRetried, readUsage, refusal } from './cell-answer.ts'
import type { ClientAnswer } from './client-answer.ts'
import { PartialUsage } from './partial-usage.ts'

/** What became of one request on one cell. */
export type Attempt =
  /** `rest` is what was not sent yet: the whole answer, or the last words of a stream. */
  | { kind: 'answered'; usage: Usage | undefined; httpStatus: number; rest: Rest }
  | { kind: 'cancelled'; usage: Usage | undefined }
  /** Without `rest` it was cut: not all of it came. */
  | { kind: 'declined'; usage: Usage | undefined; httpStatus: number; rest: Rest | undefined }
  /** Nothing was sent to the client: another cell may be asked. */
  | { kind: 'retry'; error: ShoalError; failed: boolean }
  /** The client has part of the answer; `error` is what it was not told yet. */
  | { kind: 'broken'; error: ShoalError | undefined; httpStatus: number; usage: Usage | undefined }
  /** The answer cannot be passed on, whoever makes it. */
  | { kind: 'tooLarge'; error: ShoalError }

export interface Rest {
  body: Buffer
  /** Headers that still have to be sent. */
  answer: IncomingHttpHeaders | undefined
}

export interface FollowOptions {
  cellId: string
  client: ClientAnswer
  /** True when the client asked for server-sent events. */
  streaming: boolean
  accept: ((status: number, headers: IncomingHttpHeaders) => boolean) | undefined
  /** From here on no other cell can take over. */
  started: () => void
}

/** Largest answer that is kept until it is whole. */
const MAX_HELD_BYTES = 64 * 1024 * 1024
/** More than an event has; what is longer goes on in parts. */
const MAX_EVENT_BYTES = 1024 * 1024
/** A cell may queue, load and read a long prompt; one that says nothing for so long hangs. */
const SILENCE_MS = 10 * 60_000

const EVENT_END = Buffer.from('\n\n')
const NEWLINE = 0x0a
/** The last words of a stream, held back until its usage is on record. */
const DONE = Buffer.from('data: [DONE]\n\n')
const EMPTY = Buffer.alloc(0)

/** Follows one stream of a cell to its end; always settles with the stream's `close`. */
export const follow = (stream: ClientHttp2Stream, options: FollowOptions): Promise<Attempt> =>
  new Promise(resolve => new Follower(stream, options, resolve))

class Follower {
  readonly #stream: ClientHttp2Stream
  readonly #options: FollowOptions
  readonly #partial: PartialUsage | undefined
  #status = 0
  #answer: IncomingHttpHeaders = {}
  #usage: Usage | undefined
  #held: Buffer[] = []
  #heldBytes = 0
  #started = false
  #declined = false

  constructor(
    stream: ClientHttp2Stream,
    options: FollowOptions,
    settle: (attempt: Attempt) => void,
  ) {
    this.#stream = stream
    this.#options = options
    this.#partial = options.streaming ? new PartialUsage() : undefined
    stream.on('response', headers => this.#begin(headers))
    stream.on('data', (piece: Buffer) => this.#take(piece))
    stream.on('trailers', headers => {
      this.#usage = readUsage(headers[TRAILER_USAGE])
    })
    stream.on('error', ignore)
    stream.once('close', () => {
      letGo(stream)
      settle(this.#result())
    })
    stream.setTimeout(SILENCE_MS, () => this.#silent())
  }

  /** Told as a stream while it comes. */
  get #isPassedOn(): boolean {
    return this.#options.streaming && this.#status === 200 && !this.#declined
  }

  #begin(headers: IncomingHttpHeaders & IncomingHttpStatusHeader): void {
    const { accept, streaming } = this.#options
    const status = headers[':status'] ?? 500
    this.#status = status
    this.#answer = headers
    this.#declined = !isRetried(status) && accept?.(status, headers) === false
    // what a stream has told so far is told again by another; a whole answer is there already
    if (this.#declined && streaming && status === 200) this.#cancel()
  }

  #take(piece: Buffer): void {
    const length = this.#isPassedOn ? this.#wholeEvents(piece) : 0
    if (length > 0) this.#passWith(piece.subarray(0, length))
    if (length < piece.length) this.#hold(piece.subarray(length))
  }

  /** What was held back, then the last of it. */
  #passWith(last: Buffer): void {
    const events = joined([...this.#held, last])
    const isDone = endsWith(events, DONE)
    this.#held = []
    this.#heldBytes = 0
    if (!isDone) this.#pass(events)
    else if (events.length > DONE.length) this.#pass(events.subarray(0, -DONE.length))
    if (isDone) this.#hold(DONE)
  }

  /**
   * How much of a piece can go on. The beginning of an event waits for its end: what is said when a
   * stream is cut must not be read as a part of it.
   */
  #wholeEvents(piece: Buffer): number {
    const end = piece.lastIndexOf(EVENT_END)
    if (end !== -1) return end + EVENT_END.length
    if (piece[0] === NEWLINE && this.#held.at(-1)?.at(-1) === NEWLINE) return 1
    return this.#heldBytes + piece.length > MAX_EVENT_BYTES ? piece.length : 0
  }

  #hold(piece: Buffer): void {
    this.#heldBytes += piece.length
    if (this.#heldBytes <= MAX_HELD_BYTES) this.#held.push(piece)
    else this.#cancel()
  }

  #pass(piece: Buffer): void {
    const { client, cellId, started } = this.#options
    if (!this.#started) {
      started()
      client.start(this.#answer, cellId)
    }
    this.#started = true
    this.#partial?.count(piece)
    if (client.isGone) this.#cancel()
    else client.write(piece, this.#stream)
  }

  #cancel(): void {
    this.#stream.close(constants.NGHTTP2_CANCEL)
  }

  /** A client that takes nothing is not the cell's fault. */
  #silent(): void {
    if (this.#options.client.isStalled) this.#options.client.drop()
    this.#cancel()
  }

  #result(): Attempt {
    const { client, cellId, streaming } = this.#options
    const status = this.#status
    const soFar = this.#partial?.usage(this.#answer)
    if (client.isGone) return { kind: 'cancelled', usage: this.#usage ?? soFar }
    if (this.#declined && streaming && status === 200) {
      const usage = readUsage(this.#answer[HEADER_USAGE_SO_FAR])
      return { kind: 'declined', usage, httpStatus: status, rest: undefined }
    }
    if (this.#heldBytes > MAX_HELD_BYTES) return { kind: 'tooLarge', error: tooLarge() }
    // `end` comes for a cut wire too; only the code of the stream tells (node:http2 rstCode)
    const cut = this.#stream.rstCode !== constants.NGHTTP2_NO_ERROR || status === 0
    if (cut || (status === 200 && this.#usage === undefined)) {
      const error = new ShoalError('cell_unavailable', `${cellId} stopped during the answer`)
      if (!this.#started) return { kind: 'retry', error, failed: true }
      return { kind: 'broken', error: cut ? error : undefined, httpStatus: status, usage: soFar }
    }
    return this.#whole(status)
  }

  #whole(status: number): Attempt {
    const body = joined(this.#held)
    if (isRetried(status))
      return { kind: 'retry', error: refusal(body, this.#answer), failed: !isBusy(status) }
    const rest = { body, answer: this.#started ? undefined : this.#answer }
    const kind = this.#declined ? 'declined' : 'answered'
    return { kind, usage: this.#usage, httpStatus: status, rest }
  }
}

const ignore = (): void => {}

/**
 * A stream that has ended outlives every collection of the young generation in Node 24 (seen with
 * 24.21), and with it all that its listeners hold: the request, its answer and its connection would
 * be copied twice and kept until a whole collection.
 */
const letGo = (stream: ClientHttp2Stream): void => {
  stream.removeAllListeners().on('error', ignore)
}

const tooLarge = (): ShoalError =>
  new ShoalError('internal', `the answer is larger than ${MAX_HELD_BYTES / 1024 / 1024} MiB`)

const joined = (pieces: Buffer[]): Buffer =>
  pieces.length === 1 ? (pieces[0] ?? EMPTY) : Buffer.concat(pieces)

const endsWith = (piece: Buffer, end: Buffer): boolean =>
  piece.length >= end.length && piece.subarray(-end.length).equals(end)
