import { ShoalError } from '../../shared/errors.ts'
import { HEADER_USAGE_SO_FAR, TRAILER_USAGE } from '../../shared/wire/link.ts'
import type { Usage } from '../../shared/wire/openai.ts'
import { isBusy, isRetried, readUsage, refusal } from './cell-answer.ts'
import type {
  AnswerHeaders,
  AnswerListener,
  CellLink,
  CellRequest,
  CellStream,
} from './cell-link.ts'
import type { ClientAnswer } from './client-answer.ts'
import { heldAnswers } from './held-memory.ts'
import { HeldPieces } from './held-pieces.ts'
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
  /** There is no room for the answer, whoever makes it. */
  | { kind: 'tooLarge'; error: ShoalError }

export interface Rest {
  body: Buffer
  /** Headers that still have to be sent. */
  answer: AnswerHeaders | undefined
}

export interface FollowOptions {
  client: ClientAnswer
  /** True when the client asked for server-sent events. */
  streaming: boolean
  accept: ((status: number, headers: AnswerHeaders) => boolean) | undefined
  /** From here on no other cell can take over. */
  started: () => void
}

/** Largest answer that is kept until it is whole. */
const MAX_HELD_BYTES = 64 * 1024 * 1024
/** More than an event has; what is longer goes on in parts. */
const MAX_EVENT_BYTES = 1024 * 1024

const EVENT_END = Buffer.from('\n\n')
const NEWLINE = 0x0a
/** The last words of a stream, held back until its usage is on record. */
const DONE = Buffer.from('data: [DONE]\n\n')

/** Asks one cell and follows its answer to the end. */
export class Follower implements AnswerListener {
  readonly #options: FollowOptions
  readonly #cellId: string
  readonly #stream: CellStream
  readonly #partial: PartialUsage | undefined
  #settle: (attempt: Attempt) => void = () => {}
  /** What became of it; always settles. */
  readonly attempt = new Promise<Attempt>(resolve => {
    this.#settle = resolve
  })
  #status = 0
  #answer: AnswerHeaders = {}
  #usage: Usage | undefined
  readonly #held = new HeldPieces()
  #noRoom: ShoalError | undefined
  #started = false
  #declined = false
  #isClosed = false

  /** @throws ShoalError cell_unavailable */
  constructor(link: CellLink, request: CellRequest, options: FollowOptions) {
    this.#options = options
    this.#cellId = link.cellId
    this.#partial = options.streaming ? new PartialUsage() : undefined
    this.#stream = link.request(request, this)
  }

  /** Told as a stream while it comes. */
  get #isPassedOn(): boolean {
    return this.#options.streaming && this.#status === 200 && !this.#declined
  }

  head(status: number, headers: AnswerHeaders): void {
    const { accept, streaming } = this.#options
    this.#status = status
    this.#answer = headers
    this.#declined = !isRetried(status) && accept?.(status, headers) === false
    // what a stream has told so far is told again by another; a whole answer is there already
    if (this.#declined && streaming && status === 200) this.cancel()
  }

  data(piece: Buffer): void {
    const length = this.#isPassedOn ? this.#wholeEvents(piece) : 0
    if (length > 0) this.#passWith(piece.subarray(0, length))
    if (length < piece.length) this.#hold(piece.subarray(length))
  }

  trailers(headers: AnswerHeaders): void {
    this.#usage = readUsage(headers[TRAILER_USAGE])
  }

  closed(isWhole: boolean): void {
    this.#isClosed = true
    const attempt = this.#result(isWhole)
    this.#letGo()
    this.#settle(attempt)
  }

  /** What was held back, then the last of it. */
  #passWith(last: Buffer): void {
    const events = this.#held.whole(last)
    const isDone = endsWith(events, DONE)
    this.#letGo()
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
    if (piece[0] === NEWLINE && this.#held.lastByte === NEWLINE) return 1
    return this.#held.bytes + piece.length > MAX_EVENT_BYTES ? piece.length : 0
  }

  #hold(piece: Buffer): void {
    // passing on what came before it found that the client is gone
    if (this.#isClosed) return
    const isTooLarge = this.#held.bytes + piece.length > MAX_HELD_BYTES
    // part of an event is little, and its stream has begun
    if (!isTooLarge && heldAnswers.take(piece.length, this.#isPassedOn)) {
      this.#held.add(piece)
    } else {
      this.#noRoom = isTooLarge ? tooLarge() : busy()
      this.cancel()
    }
  }

  #letGo(): void {
    heldAnswers.give(this.#held.bytes)
    this.#held.clear()
  }

  #pass(piece: Buffer): void {
    const { client, started } = this.#options
    if (!this.#started) {
      started()
      client.start(this.#answer, this.#cellId)
    }
    this.#started = true
    this.#partial?.count(piece)
    if (client.isGone) this.cancel()
    else client.write(piece, this.#stream)
  }

  cancel(): void {
    this.#stream.cancel()
  }

  /** A client that takes nothing is not the cell's fault. */
  silent(): void {
    if (this.#options.client.isStalled) this.#options.client.drop()
    this.cancel()
  }

  #result(isWhole: boolean): Attempt {
    const { client, streaming } = this.#options
    const status = this.#status
    const soFar = this.#partial?.usage(this.#answer)
    if (client.isGone) return { kind: 'cancelled', usage: this.#usage ?? soFar }
    if (this.#declined && streaming && status === 200) {
      const usage = readUsage(this.#answer[HEADER_USAGE_SO_FAR])
      return { kind: 'declined', usage, httpStatus: status, rest: undefined }
    }
    if (this.#noRoom !== undefined) return { kind: 'tooLarge', error: this.#noRoom }
    if (!isWhole || (status === 200 && this.#usage === undefined)) {
      const error = new ShoalError('cell_unavailable', `${this.#cellId} stopped during the answer`)
      if (!this.#started) return { kind: 'retry', error, failed: true }
      return {
        kind: 'broken',
        error: isWhole ? undefined : error,
        httpStatus: status,
        usage: soFar,
      }
    }
    return this.#whole(status)
  }

  #whole(status: number): Attempt {
    const body = this.#held.whole()
    if (isRetried(status))
      return { kind: 'retry', error: refusal(body, this.#answer), failed: !isBusy(status) }
    const rest = { body, answer: this.#started ? undefined : this.#answer }
    const kind = this.#declined ? 'declined' : 'answered'
    return { kind, usage: this.#usage, httpStatus: status, rest }
  }
}

const tooLarge = (): ShoalError =>
  new ShoalError('internal', `the answer is larger than ${MAX_HELD_BYTES / 1024 / 1024} MiB`)

const busy = (): ShoalError =>
  new ShoalError('cell_unavailable', 'too many large answers are on their way to clients', {
    retryAfterSeconds: 1,
  })

const endsWith = (piece: Buffer, end: Buffer): boolean =>
  piece.length >= end.length && piece.subarray(-end.length).equals(end)
