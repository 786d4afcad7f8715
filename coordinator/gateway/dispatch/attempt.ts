import { ShoalError } from '../../../shared/errors.ts'
import { HEADER_USAGE_SO_FAR, TRAILER_USAGE } from '../../../shared/wire/link.ts'
import type { Usage } from '../../../shared/wire/openai.ts'
import type {
  AnswerHeaders,
  AnswerListener,
  CellLink,
  CellRequest,
  CellStream,
} from '../../fleet/cells/cell-link.ts'
import {
  AnswerHold,
  type CutReason,
  createBusyError,
  createKeyBoundError,
  type HoldOwner,
} from '../../fleet/questions/answer-hold.ts'
import {
  createBadAnswerError,
  isAnswerType,
  isBusy,
  isCredible,
  isRetried,
  parseCellRefusal,
  parseUsage,
  refusalStatus,
} from '../../fleet/questions/cell-answer.ts'
import { HeldPieces } from '../../fleet/questions/held-pieces.ts'
import { PartialUsage } from '../../fleet/questions/partial-usage.ts'
import {
  CELL_SWEEPS,
  LEAST_BYTES_PER_SWEEP,
  SWEEP_SECONDS,
} from '../../fleet/questions/transfers.ts'
import type { Fault } from '../../fleet/routing/health/fault.ts'
import { ServiceClock } from '../../fleet/routing/health/service-clock.ts'
import { UNSENT_MS } from '../../fleet/routing/health/time-limits.ts'
import { AnswerRest } from './answer-rest.ts'
import type { AnsweredAttempt, AttemptResult } from './attempt-result.ts'
import { countWholeEventBytes, DONE, endsWithDone } from './event-ends.ts'
import type { FollowOptions } from './follow-options.ts'

/** Largest answer that is kept until it is whole. */
const MAX_HELD_BYTES = 64 * 1024 * 1024
/** Largest error of a cell; it is parsed in one piece. */
const MAX_ERROR_BYTES = 64 * 1024

/** Asks one cell and follows its answer to the end. */
export class Follower implements AnswerListener, HoldOwner {
  readonly #options: FollowOptions
  readonly #cellId: string
  readonly #link: CellLink
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
  /** The answers of the cell use up its share of the memory. */
  #isCellFull = false
  #beganAtMs: number | undefined
  /** Clock of the service. The first beat creates it, which most answers do not live to see. */
  #clock: ServiceClock | undefined
  #fault: Fault | undefined
  /** Explains the fault to the client. */
  #reason = 'stopped during the answer'
  #declined = false
  #isClosed = false

  /** @throws ShoalError cell_unavailable */
  constructor(link: CellLink, request: CellRequest, options: FollowOptions) {
    this.#options = options
    this.#cellId = link.cellId
    this.#link = link
    this.#partial = options.streaming ? new PartialUsage() : undefined
    this.#hold = new AnswerHold(options.memory, options.keyId, link.cellId, this)
    this.#stream = link.request(request, this)
  }

  get #started(): boolean {
    return this.#beganAtMs !== undefined
  }

  /** True when the answer is forwarded to the client as a stream while it arrives. */
  get #isPassedOn(): boolean {
    return this.#options.streaming && this.#status === 200 && !this.#declined && !this.#fault
  }

  onHead(status: number, headers: AnswerHeaders): void {
    const { accept, streaming } = this.#options
    this.#status = status
    this.#answer = headers
    if (!isRetried(status) && !isAnswerType(headers, streaming && status === 200)) {
      this.#end('bad_answer')
      return
    }
    this.#declined = !isRetried(status) && accept?.(status, headers) === false
    // a declined stream is requested again when it is needed; a whole answer is kept
    if (this.#declined && streaming && status === 200) this.cancel()
  }

  onData(piece: Buffer): boolean {
    const length = this.#isPassedOn ? countWholeEventBytes(piece, this.#held) : 0
    if (length === 0) return this.#keep(piece)
    this.#passWith(piece.subarray(0, length))
    if (length < piece.length) this.#keep(piece.subarray(length))
    return false
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
    const isDone = endsWithDone(events)
    this.#letGo()
    if (!isDone) this.#pass(events)
    else if (events.length > DONE.length) this.#pass(events.subarray(0, -DONE.length))
    if (isDone) this.#keep(DONE)
  }

  /** Returns true when it has no more use for the piece. */
  #keep(piece: Buffer): boolean {
    // forwarding earlier bytes closes the attempt when the client is gone
    if (this.#isClosed) return true
    if (!this.#isPassedOn && !this.#hold.isWatched && this.#held.bytes > 0)
      // from the second piece on: most answers are one, and after that the beats see a silence
      this.#hold.watch(CELL_SWEEPS)
    if (this.#isTooLarge(piece)) this.#refuseTooLarge()
    else if (this.#hold.take(piece.length)) return this.#held.add(piece)
    else if (!this.#isPassedOn) this.#refuseAt(this.#hold.refusedBy)
    else {
      // part of an event, which can go out as it is
      this.#passWith(piece)
      return false
    }
    return true
  }

  #isTooLarge(piece: Buffer): boolean {
    const mostBytes = this.#status === 200 ? MAX_HELD_BYTES : MAX_ERROR_BYTES
    return this.#held.bytes + piece.length > mostBytes
  }

  #refuseTooLarge(): void {
    if (this.#status === 200) this.#noRoom = createTooLargeError()
    else this.#fault = 'bad_answer'
    this.#reason = `sent more than ${MAX_ERROR_BYTES / 1024} KiB of an error`
    this.cancel()
  }

  /**
   * The bound of a cell concerns its unfinished answers only: another cell may be asked, or this one
   * later. It is no fault of the cell, since a few large answers at once reach it.
   */
  #refuseAt(bound: string | undefined): void {
    if (bound === 'cell') this.#isCellFull = true
    else this.#noRoom = bound === 'key' ? createKeyBoundError() : createBusyError()
    this.cancel()
  }

  /** The answer made no progress, or a key that holds less needs its memory. */
  onCut(reason: CutReason): void {
    if (reason === 'stalled') this.#end('stalled', STALLED)
    else {
      this.#noRoom = createKeyBoundError()
      this.cancel()
    }
  }

  #letGo(): void {
    this.#hold.close()
    this.#held.clear()
  }

  #pass(piece: Buffer): void {
    const { client, nowMs, onStart } = this.#options
    if (!this.#started) {
      this.#beganAtMs = nowMs()
      onStart()
      client.start(this.#answer, this.#cellId)
    }
    this.#partial?.count(piece)
    if (client.isGone) this.cancel()
    else client.write(piece, this.#stream)
  }

  cancel(): void {
    this.#stream.cancel()
  }

  /** Ends the attempt by the cell's fault. */
  #end(fault: Fault, reason = this.#reason): void {
    this.#fault = fault
    this.#reason = reason
    this.cancel()
  }

  /** A client that takes nothing is not the cell's fault. */
  onBeat(everyMs: number, isLate: boolean): void {
    const { client, limitMs } = this.#options
    this.#clock ??= new ServiceClock()
    const { unsentBytes } = this.#stream
    const hasBegun = this.#progress > 0
    const silenceMs = unsentBytes > 0 ? UNSENT_MS : limitMs?.(hasBegun)
    const isOverdue = this.#clock.isOverdue(
      everyMs,
      this.#progress - Math.min(unsentBytes, Number.MAX_SAFE_INTEGER),
      client.isStalled ? undefined : silenceMs,
    )
    if (isOverdue && client.isStalled) client.drop()
    // nothing was sent to the client yet, so another cell can answer sooner
    if (isOverdue || (isLate && !this.#started)) this.#end(hasBegun ? 'stalled' : 'no_first_byte')
  }

  /** Grows with every piece of the answer; comments that keep a stream alive do not count. */
  get #progress(): number {
    return this.#held.bytes + (this.#partial?.dataEvents ?? 0)
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
    if (this.#isCellFull)
      return { kind: 'retry', error: createCellFullError(this.#cellId), failed: false }
    if (!isWhole || (status === 200 && this.#usage === undefined)) {
      const fault = this.#fault ?? this.#faultOfCut(isWhole)
      const error = new ShoalError('cell_unavailable', `${this.#cellId} ${this.#reason}`)
      if (!this.#started) return { kind: 'retry', error, failed: true, fault }
      return {
        kind: 'broken',
        error: isWhole ? undefined : error,
        httpStatus: status,
        usage: soFar,
        fault,
      }
    }
    return this.#toAttempt(status)
  }

  #faultOfCut(isWhole: boolean): Fault {
    if (isWhole) return this.#partial?.hasError ? 'engine_failed' : 'bad_answer'
    return this.#link.isOpen ? 'reset' : 'link_lost'
  }

  #toAttempt(answered: number): AttemptResult {
    if (isBusy(answered)) {
      const error = parseCellRefusal(this.#held.toBuffer(), this.#answer)
      return { kind: 'retry', error, failed: false }
    }
    const status = answered === 200 ? 200 : refusalStatus(answered, this.#held.toBuffer())
    if (status === undefined) {
      const error = createBadAnswerError(this.#cellId, answered)
      return { kind: 'retry', error, failed: true, fault: 'bad_answer' }
    }
    const answer = this.#started ? undefined : this.#answer
    const rest = new AnswerRest(this.#held, this.#hold, answer)
    if (!this.#declined) return this.#toAnswered(status, rest)
    rest.allowCut()
    return { kind: 'declined', usage: this.#usage, httpStatus: status, rest }
  }

  /** An answer with text whose usage is zero is not believed: its events are counted instead. */
  #toAnswered(httpStatus: number, rest: AnswerRest): AnsweredAttempt {
    const kind = 'answered'
    const usage = this.#usage
    const beganAtMs = this.#beganAtMs
    if (usage === undefined || isCredible(usage, this.#partial?.dataEvents))
      return { kind, usage, httpStatus, rest, beganAtMs }
    const counted = this.#partial?.usage(this.#answer)
    return { kind, usage: counted, httpStatus, rest, beganAtMs, fault: 'bad_answer' }
  }
}

const createCellFullError = (cellId: string): ShoalError =>
  new ShoalError('cell_unavailable', `${cellId} has too many large answers that are not whole`, {
    retryAfterSeconds: 1,
  })

const createTooLargeError = (): ShoalError =>
  new ShoalError('internal', `the answer is larger than ${MAX_HELD_BYTES / 1024 / 1024} MiB`)

const STALLED = `sent less than ${(LEAST_BYTES_PER_SWEEP * CELL_SWEEPS) / 1024} KiB of its answer in ${SWEEP_SECONDS * CELL_SWEEPS} s`
