import type { OutgoingHttpHeaders } from 'node:http'
import { type ErrorCode, httpStatus as httpStatusOf, ShoalError } from '../../shared/errors.ts'
import type { Usage } from '../../shared/wire/openai.ts'
import type { Share } from '../budgets/budget.ts'
import type { AnswerMemory } from './answer-hold.ts'
import type { AnswerRest } from './answer-rest.ts'
import { askEngine, type EngineRequest } from './ask-engine.ts'
import type { AttemptResult, Follower } from './attempt.ts'
import type { AnswerHeaders } from './cell-link.ts'
import { ClientAnswer } from './client-answer.ts'
import type { ClientResponse } from './client-response.ts'
import { type CellEngine, claim, healthOf, isHalfOpen, release } from './engine.ts'
import type { AnswerTiming } from './health/engine-health.ts'
import { ProbeReader } from './health/probe-reader.ts'
import type { End, FailedRequest, RequestLane, SentRequest } from './lane.ts'
import type { Place } from './wait-queue.ts'

export interface Dispatch {
  path: string
  headers: OutgoingHttpHeaders
  body: Buffer
  /** Memory that a large body takes; closed when the body is not needed any more. */
  bodyShare?: Pick<Share, 'close'> | undefined
  /** The client's own answer. Nothing was written to it yet. */
  response: ClientResponse
  /** Headers for the client, whichever cell serves the request. */
  answerHeaders: OutgoingHttpHeaders
  /** True when the client asked for server-sent events. */
  stream: boolean
  memory: AnswerMemory
  /** Key whose share of the memory the answer takes. */
  keyId: string
  /** Chooses the next engine; it is given the cells that were tried. */
  pick: (tried: ReadonlySet<string>) => CellEngine | undefined
  /**
   * Queue for the request, notified of how cells served it; without a lane the request does not
   * wait.
   */
  lane?: RequestLane | undefined
  /** Waited for before the answer ends, so that an answered request is on record. */
  record: (outcome: DispatchOutcome) => Promise<void>
  /** Called with the code of an error that is sent to the client. */
  onError?: ((code: ErrorCode) => void) | undefined
  /** Looks at the head of an answer; false declines it, and the client never sees any of it. */
  accept?: (status: number, headers: AnswerHeaders) => boolean
  /**
   * True when `unavailable` is returned, with nothing written or recorded, if no cell takes the
   * request at once.
   */
  quiet?: boolean
}

/** Result of a dispatch. Only `done` has written to the client and made a record. */
export type DispatchResult = { kind: 'done' } | DeclinedAnswer | { kind: 'unavailable' }

export interface DeclinedAnswer {
  kind: 'declined'
  cellId: string
  /**
   * Usage the cell reported before its answer ended or was cut; undefined when it reported none.
   */
  usage: Usage | undefined
  httpStatus: number
  /**
   * Gives the client the answer after all. Undefined for a stream, which was cut, and for an answer
   * that was discarded, perhaps because its memory was needed.
   */
  readonly deliver: (() => Promise<void>) | undefined
  /** Must be called for an answer that is not delivered. */
  discard(): void
}

export interface DispatchOutcome {
  status: 'ok' | 'cancelled' | 'failed' | 'refused'
  /** The last cell that had the request. */
  cellId: string | undefined
  /**
   * Token usage; partial for a stream that broke off (see `PartialUsage`), undefined when unknown.
   */
  usage: Usage | undefined
  /** Status the client was sent; undefined when it left before. */
  httpStatus: number | undefined
}

/** Cells that get to see one request before it waits. */
const MAX_TRIES = 3
/** Cells that refuse it in all, while it waits; only others that fill them at once explain more. */
const MAX_REFUSALS = 50
/** Cells that may fail on it while their engines live on. */
const MAX_FAILURES = 5
/** Engines that may die with it: a request that kills engines must not kill them all. */
const MAX_KILLS = 2
/** Time after a request within which the loss of its engine counts as caused by it, milliseconds. */
const KILL_MS = 5000
const NO_CELL_RETRY_SECONDS = 30

/**
 * Sends one request to a cell and its answer to the client, bytes unchanged and with
 * back-pressure. Until the first byte went out, a cell that is full, gone or failing is replaced
 * by another. A client that leaves cancels the cell's work in every phase.
 */
export const dispatch = (request: Dispatch): Promise<DispatchResult> =>
  new Dispatcher(request).run()

interface EndedRequest extends SentRequest {
  endedAtMs: number
}

class Dispatcher {
  readonly #request: Dispatch
  readonly #client: ClientAnswer
  #body: Buffer | undefined
  readonly #bodyBytes: number
  /** Cells that had it since it last waited in line, and those on which it has failed. */
  #tried: ReadonlySet<string> = NONE
  #failedOn: ReadonlySet<string> = NONE
  #failures: readonly (FailedRequest & EndedRequest)[] = NO_FAILURES
  #refusals: readonly EndedRequest[] = NO_FAILURES
  #current: Follower | undefined
  #place: Place | undefined
  /** The last cell that had it. */
  #cellId: string | undefined

  constructor(request: Dispatch) {
    this.#request = request
    this.#body = request.body
    this.#bodyBytes = request.body.length
    const { response, answerHeaders: headers, memory, keyId, onError } = request
    this.#client = new ClientAnswer({ response, headers, memory, keyId, onError })
    this.#client.onGone(() => {
      this.#place?.leave()
      this.#current?.cancel()
    })
  }

  async run(): Promise<DispatchResult> {
    let last: ShoalError | undefined
    for (;;) {
      const engine = this.#claimNext() ?? (await this.#waitForTurn().catch(toRefusal))
      if (engine instanceof ShoalError) last = engine
      if (engine === undefined || engine instanceof ShoalError) break
      const attempt = await this.#attempt(engine)
      if (attempt.kind === 'declined') return this.#toDeclined(attempt, engine.cellId)
      if (attempt.kind !== 'retry') {
        await this.#finish(attempt)
        return DONE
      }
      last = attempt.error
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

  /** The next engine, with a place on it. */
  #claimNext(): CellEngine | undefined {
    const refusals = this.#tried.size - this.#failedOn.size
    if (refusals >= MAX_TRIES || !this.#mayGoOn) return undefined
    const engine = this.#request.pick(this.#tried)
    if (engine === undefined) return undefined
    claim(engine, performance.now())
    return isHalfOpen(engine) ? this.#claimSound(engine) : engine
  }

  /**
   * Probes a half-open engine with a copy of the request, and returns a sound one for the request
   * itself, so that no client waits for a probe; the half-open one where no other has room.
   */
  #claimSound(halfOpen: CellEngine): CellEngine {
    const passed = new Set(this.#tried)
    let engine: CellEngine | undefined = halfOpen
    while (engine !== undefined && isHalfOpen(engine)) {
      passed.add(engine.cellId)
      engine = this.#request.lane?.pick(passed)
    }
    if (engine === undefined) return halfOpen
    claim(engine, performance.now())
    void this.#probe(halfOpen)
    return engine
  }

  async #probe(engine: CellEngine): Promise<void> {
    const { lane, stream: streaming, memory, keyId } = this.#request
    const sent = { engine, sentAtMs: performance.now(), lostBeforeMs: engine.lostAtMs }
    const client = new ProbeReader()
    const reader = { client, streaming, memory, keyId, accept: undefined, onStart: () => {} }
    const attempt = await askEngine(engine, this.#engineRequest, reader)
    release(engine)
    lane?.reportEnd(sent, client.hasBegun ? 'served' : endOf(attempt))
    if (attempt.kind === 'retry' && attempt.failed)
      lane?.reportFailures([{ ...sent, fault: attempt.fault }], true)
    if (attempt.kind === 'answered') attempt.rest.discard()
  }

  /** Waits in line, unless the caller knows better; what refused it may be asked again by then. */
  async #waitForTurn(): Promise<CellEngine | undefined> {
    if (!this.#mayGoOn || this.#client.isGone || this.#request.quiet) return undefined
    this.#place = this.#request.lane?.wait(this.#failedOn)
    const engine = await this.#place?.turn
    this.#place = undefined
    this.#tried = this.#failedOn
    return engine
  }

  /** An engine that is lost while it has this request, or soon after, counts as killed by it. */
  get #mayGoOn(): boolean {
    if (this.#failures.length >= MAX_FAILURES || this.#refusals.length >= MAX_REFUSALS) return false
    // an engine that was only silent had not died
    const kills = this.#failures.filter(({ fault }) => fault !== 'no_first_byte')
    return countKilled(kills) + countKilled(this.#refusals) < MAX_KILLS
  }

  /** Sends the request to an engine on which a place is claimed. */
  async #attempt(engine: CellEngine): Promise<AttemptResult> {
    const sent = { engine, sentAtMs: performance.now(), lostBeforeMs: engine.lostAtMs }
    const attempt = await this.#ask(sent)
    this.#request.lane?.reportEnd(sent, endOf(attempt), this.#timingOf(attempt, sent))
    if (attempt.kind === 'retry') this.#noteRetry(sent, attempt)
    else this.#noteAnswer(sent, attempt)
    return attempt
  }

  #noteRetry(sent: SentRequest, attempt: Extract<AttemptResult, { kind: 'retry' }>): void {
    const { cellId } = sent.engine
    const ended = { ...sent, endedAtMs: performance.now() }
    this.#tried = new Set([...this.#tried, cellId])
    if (!attempt.failed) this.#refusals = [...this.#refusals, ended]
    else {
      this.#failedOn = new Set([...this.#failedOn, cellId])
      this.#failures = [...this.#failures, { ...ended, fault: attempt.fault }]
      if (attempt.fault === 'no_first_byte')
        healthOf(sent.engine).noteCut(this.#bodyBytes, ended.endedAtMs - sent.sentAtMs)
    }
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
    if (this.#failures.length > 0) this.#request.lane?.reportFailures(this.#failures, isAnswered)
    this.#failures = NO_FAILURES
  }

  /** Returns the duration and tokens of an answer; undefined without an answer or its usage. */
  #timingOf(attempt: AttemptResult, { sentAtMs }: SentRequest): AnswerTiming | undefined {
    if (attempt.kind !== 'answered' || attempt.usage === undefined) return undefined
    const { usage, beganAtMs } = attempt
    return {
      durationMs: performance.now() - sentAtMs,
      firstByteMs: beganAtMs === undefined ? undefined : beganAtMs - sentAtMs,
      tokens: usage.total_tokens,
      generatedTokens: usage.completion_tokens,
      uncachedBytes: this.#bodyBytes * (1 - cachedShareOf(usage)),
    }
  }

  /** Releases the place on the engine. */
  async #ask({ engine }: SentRequest): Promise<AttemptResult> {
    try {
      if (this.#client.isGone) return { kind: 'cancelled', usage: undefined }
      const { stream: streaming, accept, memory, keyId } = this.#request
      const client = this.#client
      const onStart = () => this.#noteStart()
      const onSent = (follower: Follower) => {
        this.#current = follower
        this.#cellId = engine.cellId
      }
      const reader = { client, streaming, accept, memory, keyId, onStart, onSent }
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

  #noteStart(): void {
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
    const { record } = this.#request
    const cellId = this.#cellId
    this.#releaseBody()
    if (attempt.kind === 'tooLarge') return this.#refuse(attempt.error)
    const { usage } = attempt
    if (attempt.kind === 'cancelled')
      return record({ status: 'cancelled', cellId, usage, httpStatus: undefined })
    const { httpStatus } = attempt
    if (attempt.kind === 'broken') {
      await record({ status: 'failed', cellId, usage, httpStatus })
      return this.#client.breakOff(attempt.error)
    }
    const { rest } = attempt
    try {
      await record({ status: httpStatus === 200 ? 'ok' : 'refused', cellId, usage, httpStatus })
    } catch (error) {
      rest.discard()
      throw error
    }
    if (rest.answer === undefined) this.#client.end(rest.take())
    else this.#client.sendWhole(httpStatus, rest, cellId ?? '')
  }

  /** Refuses an answer for which there is no memory. */
  async #refuse(error: ShoalError): Promise<void> {
    const status = error.code === 'cell_unavailable' ? 'refused' : 'failed'
    const httpStatus = httpStatusOf(error.code)
    await this.#request.record({ status, cellId: this.#cellId, usage: undefined, httpStatus })
    this.#client.refuse(error)
  }

  async #giveUp(last: ShoalError | undefined): Promise<void> {
    this.#settleFailures(false)
    this.#releaseBody()
    const error = new ShoalError(
      'cell_unavailable',
      last?.message ?? 'no cell that serves this model to your tenant is ready; see /v1/health',
      { retryAfterSeconds: last?.retryAfterSeconds ?? NO_CELL_RETRY_SECONDS },
    )
    const httpStatus = this.#client.isGone ? undefined : 503
    const cellId = this.#cellId
    await this.#request.record({ status: 'refused', cellId, usage: undefined, httpStatus })
    this.#client.refuse(error)
  }
}

const EMPTY = Buffer.alloc(0)
const NONE: ReadonlySet<string> = new Set()
const NO_FAILURES: readonly never[] = []
const DONE: DispatchResult = { kind: 'done' }

/** Waiting came to nothing. */
const toRefusal = (error: unknown): ShoalError => {
  if (error instanceof ShoalError) return error
  throw error
}

const endOf = (attempt: AttemptResult): End => {
  if (attempt.kind === 'cancelled' || attempt.kind === 'tooLarge') return 'cancelled'
  if (attempt.kind === 'broken') return 'failed'
  if (attempt.kind === 'answered') return attempt.fault === undefined ? 'served' : 'failed'
  if (attempt.kind === 'declined') return attempt.rest ? 'served' : 'cancelled'
  return attempt.failed ? 'failed' : 'busy'
}

/** Share of the prompt that the engine did not have to read, 0 to 1. */
const cachedShareOf = ({ prompt_tokens: all, prompt_tokens_details: details }: Usage): number =>
  Math.min(1, (details?.cached_tokens ?? 0) / Math.max(1, all))

/**
 * Counts the losses of engines that had the request. An engine that was asked again before its loss
 * was reported is lost once.
 */
const countKilled = (requests: readonly EndedRequest[]): number => {
  const killed = requests.filter(({ engine, sentAtMs, endedAtMs }) => {
    const lostAtMs = engine.lostAtMs ?? 0
    return lostAtMs > sentAtMs && lostAtMs < endedAtMs + KILL_MS
  })
  const isFirst = ({ engine, lostBeforeMs }: SentRequest, index: number): boolean =>
    killed.findIndex(other => other.engine === engine && other.lostBeforeMs === lostBeforeMs) ===
    index
  return killed.filter(isFirst).length
}
