import { ShoalError } from '../../shared/errors.ts'
import { HEADER_USAGE_SO_FAR, TRAILER_USAGE } from '../../shared/wire/link.ts'
import type { Usage } from '../../shared/wire/openai.ts'
import {
  AnswerHold,
  type AnswerMemory,
  type CutReason,
  createBusyError,
  createKeyBoundError,
  type HoldOwner,
} from './answer-hold.ts'
import { AnswerRest } from './answer-rest.ts'
import { isBusy, isRetried, parseCellRefusal, parseUsage } from './cell-answer.ts'
import type {
  AnswerHeaders,
  AnswerListener,
  CellLink,
  CellRequest,
  CellStream,
} from './cell-link.ts'
import type { ClientAnswer } from './client-answer.ts'
import { HeldPieces } from './held-pieces.ts'
import { PartialUsage } from './partial-usage.ts'
import { CELL_SWEEPS, LEAST_BYTES_PER_SWEEP, SWEEP_SECONDS } from './transfers.ts'

/** Result of one request on one cell. */
export type AttemptResult =
  | { kind: 'answered'; usage: Usage | undefined; httpStatus: number; rest: AnswerRest }
  | { kind: 'cancelled'; usage: Usage | undefined }
  /** `rest` is undefined when the answer was cut before its end. */
  | { kind: 'declined'; usage: Usage | undefined; httpStatus: number; rest: AnswerRest | undefined }
  /** Nothing was sent to the client: another cell may be asked. */
  | { kind: 'retry'; error: ShoalError; failed: boolean }
  /**
   * Part of the answer was sent to the client; `error` is undefined when the client already has
   * one.
   */
  | { kind: 'broken'; error: ShoalError | undefined; httpStatus: number; usage: Usage | undefined }
  /** No memory for the answer, whichever cell produces it: no other cell is asked. */
  | { kind: 'tooLarge'; error: ShoalError }

interface FollowOptions {
  client: ClientAnswer
  memory: AnswerMemory
  /** Key whose share of the memory the answer takes. */
  keyId: string
  /** True when the client asked for server-sent events. */
  streaming: boolean
  accept: ((status: number, headers: AnswerHeaders) => boolean) | undefined
  /** Called before the first byte is forwarded; from then on no other cell can take over. */
  onStart: () => void
}

/** Largest answer that is kept until it is whole. */
const MAX_HELD_BYTES = 64 * 1024 * 1024
/** Largest error of a cell; it is parsed in one piece. */
const MAX_ERROR_BYTES = 64 * 1024
/** More than an event has; what is longer goes on in parts. */
const MAX_EVENT_BYTES = 1024 * 1024

const EVENT_END = Buffer.from('\n\n')
const NEWLINE = 0x0a
/** The last words of a stream, held back until its usage is on record. */
const DONE = Buffer.from('data: [DONE]\n\n')

/** Asks one cell and follows its answer to the end. */
export class Follower implements AnswerListener, HoldOwner {
  readonly #options: FollowOptions
  readonly #cellId: string
  readonly #stream: CellStream
  readonly #partial: PartialUsage | undefined
  #settle: (attempt: AttemptResult) => void = () => {}
  /** Result of the attempt; always settles. */
  readonly attempt = new Promise<AttemptResult>(resolve => {
    this.#settle = resolve
  })
  #status = 0
  #answer: AnswerHeaders = {}
  #usage: Usage | undefined
  readonly #held = new HeldPieces()
  readonly #hold: AnswerHold
  #noRoom: ShoalError | undefined
  /** Reason why the cell is to blame that the answer has no end. */
  #fault: string | undefined
  #started = false
  #declined = false
  #isClosed = false

  /** @throws ShoalError cell_unavailable */
  constructor(link: CellLink, request: CellRequest, options: FollowOptions) {
    this.#options = options
    this.#cellId = link.cellId
    this.#partial = options.streaming ? new PartialUsage() : undefined
    this.#hold = new AnswerHold(options.memory, options.keyId, link.cellId, this)
    this.#stream = link.request(request, this)
  }

  /** True when the answer is forwarded to the client as a stream while it arrives. */
  get #isPassedOn(): boolean {
    return this.#options.streaming && this.#status === 200 && !this.#declined
  }

  onHead(status: number, headers: AnswerHeaders): void {
    const { accept, streaming } = this.#options
    this.#status = status
    this.#answer = headers
    this.#declined = !isRetried(status) && accept?.(status, headers) === false
    // a declined stream is requested again when it is needed; a whole answer is kept
    if (this.#declined && streaming && status === 200) this.cancel()
  }

  onData(piece: Buffer): void {
    const length = this.#isPassedOn ? this.#wholeEvents(piece) : 0
    if (length > 0) this.#passWith(piece.subarray(0, length))
    if (length < piece.length) this.#keep(piece.subarray(length))
  }

  onTrailers(headers: AnswerHeaders): void {
    this.#usage = parseUsage(headers[TRAILER_USAGE])
  }

  onClose(isWhole: boolean): void {
    this.#isClosed = true
    const attempt = this.#result(isWhole)
    if (!('rest' in attempt) || attempt.rest === undefined) this.#letGo()
    this.#settle(attempt)
  }

  /** Forwards the held bytes followed by `last`, but holds back a final `[DONE]`. */
  #passWith(last: Buffer): void {
    const events = this.#held.toBuffer(last)
    const isDone = endsWith(events, DONE)
    this.#letGo()
    if (!isDone) this.#pass(events)
    else if (events.length > DONE.length) this.#pass(events.subarray(0, -DONE.length))
    if (isDone) this.#keep(DONE)
  }

  /**
   * Returns how many bytes of a piece can be forwarded. The beginning of an event is held until its
   * end: an error sent when the stream is cut must not be parsed as part of the event.
   */
  #wholeEvents(piece: Buffer): number {
    const end = piece.lastIndexOf(EVENT_END)
    if (end !== -1) return end + EVENT_END.length
    if (piece[0] === NEWLINE && this.#held.lastByte === NEWLINE) return 1
    return this.#held.bytes + piece.length > MAX_EVENT_BYTES ? piece.length : 0
  }

  #keep(piece: Buffer): void {
    // forwarding earlier bytes closes the attempt when the client is gone
    if (this.#isClosed) return
    if (!this.#isPassedOn && !this.#hold.isWatched) this.#hold.watch(CELL_SWEEPS)
    if (this.#isTooLarge(piece)) this.#refuseTooLarge()
    else if (this.#hold.take(piece.length)) this.#held.add(piece)
    // part of an event, which can go out as it is
    else if (this.#isPassedOn) this.#passWith(piece)
    else this.#refuseAt(this.#hold.refusedBy)
  }

  #isTooLarge(piece: Buffer): boolean {
    const mostBytes = this.#status === 200 ? MAX_HELD_BYTES : MAX_ERROR_BYTES
    return this.#held.bytes + piece.length > mostBytes
  }

  #refuseTooLarge(): void {
    if (this.#status === 200) this.#noRoom = createTooLargeError()
    else this.#fault = `sent an error of more than ${MAX_ERROR_BYTES / 1024} KiB`
    this.cancel()
  }

  /** The bound of a cell concerns its unfinished answers only: another cell may be asked. */
  #refuseAt(bound: string | undefined): void {
    if (bound === 'cell') this.#fault = 'has too many large answers that are not whole'
    else this.#noRoom = bound === 'key' ? createKeyBoundError() : createBusyError()
    this.cancel()
  }

  /** The answer made no progress, or a key that holds less needs its memory. */
  onCut(reason: CutReason): void {
    if (reason === 'stalled') this.#fault = STALLED
    else this.#noRoom = createKeyBoundError()
    this.cancel()
  }

  #letGo(): void {
    this.#hold.close()
    this.#held.clear()
  }

  #pass(piece: Buffer): void {
    const { client, onStart } = this.#options
    if (!this.#started) {
      onStart()
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
  onSilence(): void {
    if (this.#options.client.isStalled) this.#options.client.drop()
    this.cancel()
  }

  #result(isWhole: boolean): AttemptResult {
    const { client, streaming } = this.#options
    const status = this.#status
    const soFar = this.#partial?.usage(this.#answer)
    if (client.isGone) return { kind: 'cancelled', usage: this.#usage ?? soFar }
    if (this.#declined && streaming && status === 200) {
      const usage = parseUsage(this.#answer[HEADER_USAGE_SO_FAR])
      return { kind: 'declined', usage, httpStatus: status, rest: undefined }
    }
    if (this.#noRoom !== undefined) return { kind: 'tooLarge', error: this.#noRoom }
    if (!isWhole || (status === 200 && this.#usage === undefined)) {
      const reason = this.#fault ?? 'stopped during the answer'
      const error = new ShoalError('cell_unavailable', `${this.#cellId} ${reason}`)
      if (!this.#started) return { kind: 'retry', error, failed: true }
      return {
        kind: 'broken',
        error: isWhole ? undefined : error,
        httpStatus: status,
        usage: soFar,
      }
    }
    return this.#toAttempt(status)
  }

  #toAttempt(status: number): AttemptResult {
    if (isRetried(status)) {
      const error = parseCellRefusal(this.#held.toBuffer(), this.#answer)
      return { kind: 'retry', error, failed: !isBusy(status) }
    }
    const answer = this.#started ? undefined : this.#answer
    const rest = new AnswerRest(this.#held, this.#hold, answer)
    const kind = this.#declined ? 'declined' : 'answered'
    return { kind, usage: this.#usage, httpStatus: status, rest }
  }
}

const createTooLargeError = (): ShoalError =>
  new ShoalError('internal', `the answer is larger than ${MAX_HELD_BYTES / 1024 / 1024} MiB`)

const STALLED = `sent less than ${(LEAST_BYTES_PER_SWEEP * CELL_SWEEPS) / 1024} KiB of its answer in ${SWEEP_SECONDS * CELL_SWEEPS} s`

const endsWith = (piece: Buffer, end: Buffer): boolean =>
  piece.length >= end.length && piece.subarray(-end.length).equals(end)
