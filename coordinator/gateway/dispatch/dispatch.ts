import {
  detailsOf,
  type ErrorDetails,
  httpStatus as httpStatusOf,
  ShoalError,
} from '../../../shared/errors.ts'
import { type CellEngine, healthOf, release } from '../../fleet/routing/engine.ts'
import type { AnswerRest } from './answer-rest.ts'
import { askEngine, type EngineRequest } from './ask-engine.ts'
import type { Follower } from './attempt.ts'
import { endOf, timingOf } from './attempt-end.ts'
import type { AttemptResult } from './attempt-result.ts'
import { claimEngine } from './claim-engine.ts'
import { ClientAnswer } from './client-answer.ts'
import type {
  DeclinedAnswer,
  Dispatch,
  DispatchOutcome,
  DispatchResult,
} from './dispatch-request.ts'
import type { SentRequest } from './lane.ts'
import { Tries } from './tries.ts'
import type { Place } from './wait-queue.ts'

const NO_CELL_RETRY_SECONDS = 30

/**
 * Sends one request to a cell and its answer to the client, bytes unchanged and with
 * back-pressure. Until the first byte went out, a cell that is full, gone or failing is replaced
 * by another. A client that leaves cancels the cell's work in every phase.
 */
export const dispatch = (request: Dispatch): Promise<DispatchResult> =>
  new Dispatcher(request).run()

class Dispatcher {
  readonly #request: Dispatch
  readonly #client: ClientAnswer
  #body: Buffer | undefined
  readonly #bodyBytes: number
  readonly #tries: Tries
  readonly #nowMs: () => number
  #current: Follower | undefined
  #place: Place | undefined
  /** The last cell that had it. */
  #cellId: string | undefined
  #beganAtMs: number | undefined
  #retries = 0

  constructor(request: Dispatch) {
    this.#request = request
    this.#body = request.body
    this.#bodyBytes = request.body.length
    const { response, answerHeaders: headers, memory, keyId, onError, runtime } = request
    this.#nowMs = runtime.nowMs
    this.#tries = new Tries(runtime.nowMs)
    this.#client = new ClientAnswer({ response, headers, memory, keyId, onError, runtime })
    this.#client.onGone(() => {
      this.#place?.leave()
      this.#current?.cancel()
    })
  }

  async run(): Promise<DispatchResult> {
    let last: ShoalError | undefined
    for (;;) {
      const engine =
        claimEngine(this.#request, this.#tries, this.#engineRequest) ??
        (await this.#waitForTurn().catch(toRefusal))
      if (engine instanceof ShoalError) last = engine
      if (engine === undefined || engine instanceof ShoalError) break
      const attempt = await this.#attempt(engine)
      if (attempt.kind === 'declined') return this.#toDeclined(attempt, engine.cellId)
      if (attempt.kind !== 'retry') {
        await this.#finish(attempt)
        return DONE
      }
      last = attempt.error
      this.#retries++
    }
    if (this.#request.quiet) {
      this.#settleFailures(false)
      return { kind: 'unavailable' }
    }
    await this.#giveUp(last)
    return DONE
  }

  #toDeclined(
    { usage, httpStatus, rest }: Extract<AttemptResult, { kind: 'declined' }>,
    cellId: string,
  ): DeclinedAnswer {
    const deliver = (kept: AnswerRest): Promise<void> => {
      kept.forbidCut()
      if (!this.#client.isGone)
        return this.#finish({ kind: 'answered', usage, httpStatus, rest: kept })
      kept.discard()
      return this.#finish({ kind: 'cancelled', usage })
    }
    return {
      kind: 'declined',
      cellId,
      usage,
      httpStatus,
      get deliver() {
        return rest === undefined || rest.isDiscarded ? undefined : () => deliver(rest)
      },
      discard: () => rest?.discard(),
    }
  }

  /** Waits in line, unless the caller knows better; what refused it may be asked again by then. */
  async #waitForTurn(): Promise<CellEngine | undefined> {
    if (!this.#tries.mayGoOn || this.#client.isGone || this.#request.quiet) return undefined
    this.#place = this.#request.lane?.wait(this.#tries.failedOn)
    const engine = await this.#place?.turn
    this.#place = undefined
    this.#tries.allowRefused()
    return engine
  }

  /** Sends the request to an engine on which a place is claimed. */
  async #attempt(engine: CellEngine): Promise<AttemptResult> {
    const sent = { engine, sentAtMs: this.#nowMs(), lostBeforeMs: engine.lostAtMs }
    const wasReady = engine.ready
    const attempt = await this.#ask(sent)
    // the wait for a model that is loaded first is no time of service
    const timing = wasReady
      ? timingOf(attempt, sent, { bodyBytes: this.#bodyBytes, nowMs: this.#nowMs() })
      : undefined
    this.#request.lane?.reportEnd(sent, endOf(attempt), timing)
    if (attempt.kind === 'retry') this.#noteRetry(sent, attempt)
    else this.#noteAnswer(sent, attempt)
    return attempt
  }

  #noteRetry(sent: SentRequest, attempt: Extract<AttemptResult, { kind: 'retry' }>): void {
    if (!attempt.failed) {
      this.#tries.noteRefusal(sent)
      return
    }
    this.#tries.noteFailure(sent, attempt.fault)
    if (attempt.fault === 'no_first_byte')
      healthOf(sent.engine).noteCut(this.#bodyBytes, this.#nowMs() - sent.sentAtMs)
  }

  #noteAnswer(sent: SentRequest, attempt: AttemptResult): void {
    const { lane } = this.#request
    if (attempt.kind === 'answered' || attempt.kind === 'declined') this.#settleFailures(true)
    if (attempt.kind === 'broken' || attempt.kind === 'answered') {
      const { fault } = attempt
      if (fault !== undefined) lane?.reportFailures([{ ...sent, fault }], false)
    }
  }

  /** Reports the failures so far, once. @param isAnswered a cell has answered the request */
  #settleFailures(isAnswered: boolean): void {
    const failures = this.#tries.takeFailures()
    if (failures.length > 0) this.#request.lane?.reportFailures(failures, isAnswered)
  }

  /** Releases the place on the engine. */
  async #ask(sent: SentRequest): Promise<AttemptResult> {
    const { engine } = sent
    try {
      if (this.#client.isGone) return { kind: 'cancelled', usage: undefined }
      const { stream: streaming, accept, memory, keyId } = this.#request
      const client = this.#client
      const onStart = () => this.#noteStart(sent)
      const onSent = (follower: Follower) => {
        this.#current = follower
        this.#cellId = engine.cellId
      }
      const nowMs = this.#nowMs
      const reader = { client, streaming, accept, memory, keyId, nowMs, onStart, onSent }
      return await askEngine(engine, this.#engineRequest, reader)
    } finally {
      this.#current = undefined
      release(engine)
    }
  }

  get #engineRequest(): EngineRequest {
    const { path, headers } = this.#request
    return { path, headers, body: this.#body, bodyBytes: this.#bodyBytes }
  }

  #noteStart(sent: SentRequest): void {
    this.#beganAtMs = this.#nowMs()
    this.#request.lane?.reportStart(sent)
    this.#settleFailures(true)
    this.#releaseBody()
  }

  /** No other cell is asked any more, so the request need not be kept. */
  #releaseBody(): void {
    this.#body = undefined
    this.#request.body = EMPTY
    this.#request.bodyShare?.close()
  }

  /**
   * Records the request before ending the answer, so that no answered request is missing on record.
   */
  async #finish(attempt: Exclude<AttemptResult, { kind: 'retry' | 'declined' }>): Promise<void> {
    const cellId = this.#cellId
    this.#releaseBody()
    if (attempt.kind === 'tooLarge') return this.#refuse(attempt.error)
    const { usage } = attempt
    if (attempt.kind === 'cancelled')
      return this.#record({ status: 'cancelled', cellId, usage, httpStatus: undefined })
    const { httpStatus } = attempt
    if (attempt.kind === 'broken') {
      await this.#record({ status: 'failed', cellId, usage, httpStatus })
      return this.#client.breakOff(attempt.error)
    }
    const { rest } = attempt
    try {
      await this.#record({
        status: httpStatus === 200 ? 'ok' : 'refused',
        cellId,
        usage,
        httpStatus,
      })
    } catch (error) {
      rest.discard()
      throw error
    }
    if (rest.answer === undefined) this.#client.end(rest.take())
    else this.#client.sendWhole(httpStatus, rest, cellId ?? '')
  }

  #record(outcome: DispatchOutcome): Promise<void> {
    outcome.beganAtMs = this.#beganAtMs
    outcome.retries = this.#retries
    return this.#request.record(outcome)
  }

  /** Refuses an answer that cannot be kept; only one that is too large for any request counts. */
  async #refuse(error: ShoalError): Promise<void> {
    const status = error.code === 'internal' ? 'failed' : 'refused'
    const httpStatus = httpStatusOf(error.code)
    await this.#record({ status, cellId: this.#cellId, usage: undefined, httpStatus })
    this.#client.refuse(error)
  }

  async #giveUp(last: ShoalError | undefined): Promise<void> {
    this.#settleFailures(false)
    this.#releaseBody()
    const error = new ShoalError(
      'cell_unavailable',
      last?.message ?? describeNoCell(this.#request.model),
      {
        ...(last === undefined ? onwardTo(this.#request.model) : detailsOf(last)),
        retryAfterSeconds: last?.retryAfterSeconds ?? NO_CELL_RETRY_SECONDS,
      },
    )
    const httpStatus = this.#client.isGone ? undefined : 503
    const cellId = this.#cellId
    await this.#record({ status: 'refused', cellId, usage: undefined, httpStatus })
    this.#client.refuse(error)
  }
}

const EMPTY = Buffer.alloc(0)
const DONE: DispatchResult = { kind: 'done' }

const onwardTo = (model: string | undefined): ErrorDetails => ({
  reason: 'model_not_served',
  ...(model !== undefined && { next: `shoal models show ${model}` }),
})

const describeNoCell = (model: string | undefined): string => {
  const remedy =
    model === undefined ? '' : `; an operator sees why with: shoal models show ${model}`
  return `no cell that serves this model to your tenant is ready${remedy}`
}

/** Waiting came to nothing. */
const toRefusal = (error: unknown): ShoalError => {
  if (error instanceof ShoalError) return error
  throw error
}
