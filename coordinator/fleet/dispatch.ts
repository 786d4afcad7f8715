import type { ServerResponse } from 'node:http'
import {
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { errorBody, ShoalError } from '../../shared/errors.ts'
import {
  HEADER_CELL,
  HEADER_MAX_TOKENS,
  HEADER_USAGE_SO_FAR,
  TRAILER_USAGE,
} from '../../shared/wire/link.ts'
import { Usage } from '../../shared/wire/openai.ts'
import { sseError } from '../../shared/wire/sse.ts'
import { claim, type Engine, release } from './engine.ts'
import type { End, Lane } from './lane.ts'
import { MAX_TOKENS, PartialUsage } from './partial-usage.ts'
import type { Service } from './trails.ts'
import type { Place } from './wait-queue.ts'

export interface Dispatch {
  path: string
  headers: OutgoingHttpHeaders
  body: Buffer
  /** The client's own answer. Nothing was written to it yet. */
  response: ServerResponse
  /** Headers for the client, whoever serves it. */
  answerHeaders: OutgoingHttpHeaders
  /** True when the client asked for server-sent events. */
  stream: boolean
  /** Chooses the next engine; it is given the cells that were tried. */
  pick: (tried: ReadonlySet<string>) => Engine | undefined
  /** Where it waits for a cell, and who is told how cells served; without it nobody waits. */
  lane?: Pick<Lane, 'wait' | 'left'> | undefined
  /** Waited for before the answer ends, so that an answered request is on record. */
  record: (outcome: Outcome) => Promise<void>
  /** Looks at the head of an answer; false declines it, and the client never sees any of it. */
  accept?: (status: number, headers: IncomingHttpHeaders) => boolean
  /** When no cell takes it at once, the caller goes on: nothing is written and nothing recorded. */
  quiet?: boolean
}

/** How a dispatch ended. Only `done` has written to the client and made a record. */
export type Ending = { kind: 'done' } | Declined | { kind: 'unavailable' }

export interface Declined {
  kind: 'declined'
  cellId: string
  /** What the cell has told of it before it was let go. */
  usage: Usage | undefined
  httpStatus: number
  /** Gives the client the answer after all. Undefined for a stream, which was cut. */
  deliver: (() => Promise<void>) | undefined
}

export interface Outcome {
  status: 'ok' | 'cancelled' | 'failed' | 'refused'
  /** The last cell that had the request. */
  cellId: string | undefined
  /** Of a stream that broke off what is known, see `PartialUsage`; undefined when nothing is. */
  usage: Usage | undefined
  /** Status the client was sent; undefined when it left before. */
  httpStatus: number | undefined
}

/** Cells that get to see one request before it waits. */
const MAX_TRIES = 3
/** Cells that refuse it in all, while it waits; only others that fill them at once explain more. */
const MAX_REFUSALS = 50
/** Cells that may fail on it: a request that kills engines must not kill them all. */
const MAX_FAILURES = 2
/** Largest answer that is kept until it is whole. */
const MAX_HELD_BYTES = 64 * 1024 * 1024
const NO_CELL_RETRY_SECONDS = 30
/** A cell may queue, load and read a long prompt; one that says nothing for so long hangs. */
const SILENCE_MS = 10 * 60_000

/** Headers of the cell's answer that the client gets. */
const PASSED_ON = [
  'content-type',
  'cache-control',
  'x-accel-buffering',
  'retry-after',
  HEADER_MAX_TOKENS,
]

/** The last words of a stream, held back until its usage is on record. */
const DONE = Buffer.from('data: [DONE]\n\n')

/**
 * Sends one request to a cell and its answer to the client, bytes unchanged and with
 * back-pressure. Until the first byte went out, a cell that is full, gone or failing is replaced
 * by another. A client that leaves cancels the cell's work in every phase.
 */
export const dispatch = (request: Dispatch): Promise<Ending> => new Dispatcher(request).run()

type Attempt =
  /** `rest` is what was not sent yet: the whole answer, or the last words of a stream. */
  | { kind: 'answered'; usage: Usage | undefined; httpStatus: number; rest: Rest }
  | { kind: 'cancelled'; usage: Usage | undefined }
  /** Without `rest` it was cut: not all of it came. */
  | { kind: 'declined'; usage: Usage | undefined; httpStatus: number; rest: Rest | undefined }
  /** Nothing was sent to the client: another cell may be asked. */
  | { kind: 'retry'; error: ShoalError; failed: boolean }
  /** The client has part of the answer; `error` is what it was not told yet. */
  | {
      kind: 'broken'
      error: ShoalError | undefined
      httpStatus: number
      usage: Usage | undefined
    }

interface Rest {
  body: Buffer
  /** Headers that still have to be sent. */
  answer: IncomingHttpHeaders | undefined
}

class Dispatcher {
  #request: Dispatch
  #body: Buffer | undefined
  #tried = new Set<string>()
  #failures = 0
  /** Engines that refused it, and when they were asked. */
  #refusals: { engine: Engine; atMs: number }[] = []
  #current: ClientHttp2Stream | undefined
  #place: Place | undefined
  /** Pieces of a stream that came in this turn of the event loop. */
  #pieces: Buffer[] = []

  constructor(request: Dispatch) {
    this.#request = request
    this.#body = request.body
    request.response.once('close', () => {
      if (!this.#clientGone) return
      this.#place?.leave()
      this.#current?.close(constants.NGHTTP2_CANCEL)
    })
  }

  /** It may have left before we came to look. */
  get #clientGone(): boolean {
    const { response } = this.#request
    return !response.writableFinished && (response.destroyed || response.socket?.destroyed === true)
  }

  async run(): Promise<Ending> {
    let cellId: string | undefined
    let last: ShoalError | undefined
    for (;;) {
      const engine = this.#next() ?? (await this.#turn().catch(toRefusal))
      if (engine instanceof ShoalError) last = engine
      if (engine === undefined || engine instanceof ShoalError) break
      this.#tried.add(engine.cellId)
      cellId = engine.cellId
      const attempt = await this.#attempt(engine)
      if (attempt.kind === 'declined') return this.#declined(attempt, cellId)
      if (attempt.kind !== 'retry') {
        await this.#finish(attempt, cellId)
        return { kind: 'done' }
      }
      last = attempt.error
    }
    if (this.#request.quiet) return { kind: 'unavailable' }
    await this.#giveUp(last, cellId)
    return { kind: 'done' }
  }

  #declined(
    { usage, httpStatus, rest }: Extract<Attempt, { kind: 'declined' }>,
    cellId: string,
  ): Declined {
    const deliver =
      rest && (() => this.#finish({ kind: 'answered', usage, httpStatus, rest }, cellId))
    return { kind: 'declined', cellId, usage, httpStatus, deliver }
  }

  /** The next engine, with a place on it. */
  #next(): Engine | undefined {
    if (this.#tried.size >= MAX_TRIES || !this.#mayGoOn) return undefined
    const engine = this.#request.pick(this.#tried)
    if (engine !== undefined) claim(engine)
    return engine
  }

  /** Waits in line, unless the caller knows better; what was tried may be tried again by then. */
  async #turn(): Promise<Engine | undefined> {
    if (!this.#mayGoOn || this.#clientGone || this.#request.quiet) return undefined
    this.#place = this.#request.lane?.wait()
    const engine = await this.#place?.turn
    this.#place = undefined
    this.#tried.clear()
    return engine
  }

  /** An engine that left the fleet after it had this request counts as killed by it. */
  get #mayGoOn(): boolean {
    const killed = this.#refusals.filter(({ engine, atMs }) => (engine.lostAtMs ?? 0) > atMs)
    return this.#failures + killed.length < MAX_FAILURES && this.#refusals.length < MAX_REFUSALS
  }

  /** On an engine whose place is claimed; gives it back. */
  async #attempt(engine: Engine): Promise<Attempt> {
    const atMs = performance.now()
    const attempt = await this.#ask(engine).finally(() => release(engine))
    this.#request.lane?.left(engine, endOf(attempt), serviceOf(attempt, atMs))
    if (attempt.kind === 'retry' && attempt.failed) this.#failures++
    else if (attempt.kind === 'retry') this.#refusals.push({ engine, atMs })
    return attempt
  }

  async #ask(engine: Engine): Promise<Attempt> {
    if (this.#clientGone) return { kind: 'cancelled', usage: undefined }
    try {
      const { path, headers } = this.#request
      const head = { ':method': 'POST', ':path': path, ...headers }
      this.#current = engine.link.request(head, this.#body)
      return await this.#follow(this.#current, engine.cellId)
    } catch (error) {
      if (error instanceof ShoalError) return { kind: 'retry', error, failed: true }
      throw error
    } finally {
      this.#current = undefined
    }
  }

  /** Follows one stream to its end; always settles with the stream's `close`. */
  #follow(stream: ClientHttp2Stream, cellId: string): Promise<Attempt> {
    const { stream: streaming } = this.#request
    const held: Buffer[] = []
    let heldBytes = 0
    let status = 0
    let answer: IncomingHttpHeaders = {}
    let usage: Usage | undefined
    let started = false
    let declined = false
    const partial = streaming ? new PartialUsage() : undefined

    stream.on('response', (headers: IncomingHttpHeaders & IncomingHttpStatusHeader) => {
      status = headers[':status'] ?? 500
      answer = headers
      declined = !isRetried(status) && this.#request.accept?.(status, headers) === false
      // what a stream has told so far is told again by another; a whole answer is there already
      if (declined && streaming && status === 200) stream.close(constants.NGHTTP2_CANCEL)
    })
    stream.on('trailers', headers => {
      usage = readUsage(headers[TRAILER_USAGE])
    })
    stream.on('data', (chunk: Buffer) => {
      if (!streaming || status !== 200 || declined || endsWith(chunk, DONE)) {
        held.push(chunk)
        heldBytes += chunk.length
        if (heldBytes > MAX_HELD_BYTES) stream.close(constants.NGHTTP2_CANCEL)
        return
      }
      if (!started) this.#start(answer, cellId)
      started = true
      partial?.count(chunk)
      this.#write(chunk, stream)
    })
    stream.on('error', () => {})
    stream.setTimeout(SILENCE_MS, () => stream.close(constants.NGHTTP2_CANCEL))

    return new Promise(resolve => {
      stream.once('close', () => {
        const soFar = partial?.usage(answer)
        if (this.#clientGone) return resolve({ kind: 'cancelled', usage: usage ?? soFar })
        if (declined && streaming && status === 200)
          return resolve({
            kind: 'declined',
            usage: readUsage(answer[HEADER_USAGE_SO_FAR]),
            httpStatus: status,
            rest: undefined,
          })
        // `end` comes for a cut wire too; only the code of the stream tells (node:http2 rstCode)
        const cut = stream.rstCode !== constants.NGHTTP2_NO_ERROR || status === 0
        if (cut || (status === 200 && usage === undefined)) {
          const error = new ShoalError('cell_unavailable', `${cellId} stopped during the answer`)
          if (!started) return resolve({ kind: 'retry', error, failed: true })
          const told = cut ? error : undefined
          return resolve({ kind: 'broken', error: told, httpStatus: status, usage: soFar })
        }
        const body = Buffer.concat(held)
        if (isRetried(status))
          return resolve({ kind: 'retry', error: refusal(body, answer), failed: !isBusy(status) })
        const rest = { body, answer: started ? undefined : answer }
        const kind = declined ? 'declined' : 'answered'
        resolve({ kind, usage, httpStatus: status, rest })
      })
    })
  }

  /** From here on no other cell can take over, so the request need not be kept. */
  #start(answer: IncomingHttpHeaders, cellId: string): void {
    this.#body = undefined
    this.#request.body = EMPTY
    if (!this.#clientGone) this.#request.response.writeHead(200, this.#headersFor(answer, cellId))
  }

  /** Pieces of one turn of the event loop go out as one: under load that is half of the work. */
  #write(chunk: Buffer, stream: ClientHttp2Stream): void {
    if (this.#clientGone) stream.close(constants.NGHTTP2_CANCEL)
    else if (this.#pieces.push(chunk) === 1) setImmediate(() => this.#flush(stream))
  }

  #flush(stream: ClientHttp2Stream): void {
    const bytes = this.#takePieces()
    const { response } = this.#request
    if (bytes === undefined || this.#clientGone || response.write(bytes)) return
    stream.pause()
    response.once('drain', () => stream.resume())
  }

  #takePieces(): Buffer | undefined {
    const [first] = this.#pieces
    const bytes = this.#pieces.length > 1 ? Buffer.concat(this.#pieces) : first
    this.#pieces = []
    return bytes
  }

  #headersFor(answer: IncomingHttpHeaders, cellId: string): OutgoingHttpHeaders {
    const headers: OutgoingHttpHeaders = { ...this.#request.answerHeaders, [HEADER_CELL]: cellId }
    for (const name of PASSED_ON) if (answer[name] !== undefined) headers[name] = answer[name]
    return headers
  }

  async #finish(
    attempt: Exclude<Attempt, { kind: 'retry' | 'declined' }>,
    cellId: string,
  ): Promise<void> {
    const { response, record } = this.#request
    const { usage } = attempt
    if (attempt.kind === 'cancelled')
      return record({ status: 'cancelled', cellId, usage, httpStatus: undefined })
    const { httpStatus } = attempt
    if (attempt.kind === 'broken') {
      await record({ status: 'failed', cellId, usage, httpStatus })
      this.#end(attempt.error && Buffer.from(sseError(attempt.error)))
      return
    }
    const status = httpStatus === 200 ? 'ok' : 'refused'
    await record({ status, cellId, usage, httpStatus })
    const { body, answer } = attempt.rest
    if (answer !== undefined) {
      const headers = { ...this.#headersFor(answer, cellId), 'content-length': body.length }
      response.writeHead(httpStatus, headers)
    }
    this.#end(body)
  }

  /** The last words, with what was not sent yet before them. */
  #end(last: Buffer = EMPTY): void {
    const pieces = this.#takePieces()
    this.#request.response.end(pieces === undefined ? last : Buffer.concat([pieces, last]))
  }

  async #giveUp(last: ShoalError | undefined, cellId: string | undefined): Promise<void> {
    const { response, answerHeaders, record } = this.#request
    const error = new ShoalError(
      'cell_unavailable',
      last?.message ?? 'no cell that serves this model is ready; see /v1/health',
      { retryAfterSeconds: last?.retryAfterSeconds ?? NO_CELL_RETRY_SECONDS },
    )
    const isGone = this.#clientGone
    const httpStatus = isGone ? undefined : 503
    await record({ status: 'refused', cellId, usage: undefined, httpStatus })
    if (isGone || this.#clientGone) return
    const body = JSON.stringify(errorBody(error))
    response.writeHead(503, {
      ...answerHeaders,
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      'retry-after': String(error.retryAfterSeconds),
    })
    response.end(body)
  }
}

const EMPTY = Buffer.alloc(0)

/** Waiting came to nothing. */
const toRefusal = (error: unknown): ShoalError => {
  if (error instanceof ShoalError) return error
  throw error
}

const endOf = (attempt: Attempt): End => {
  if (attempt.kind === 'cancelled') return 'cancelled'
  if (attempt.kind === 'broken') return 'failed'
  if (attempt.kind === 'answered') return 'served'
  if (attempt.kind === 'declined') return attempt.rest ? 'served' : 'cancelled'
  return attempt.failed ? 'failed' : 'busy'
}

/** What an answer took; undefined when none was made. */
const serviceOf = (attempt: Attempt, startedMs: number): Service | undefined => {
  if (attempt.kind !== 'answered' || attempt.usage === undefined) return undefined
  return { durationMs: performance.now() - startedMs, tokens: attempt.usage.total_tokens }
}

const endsWith = (chunk: Buffer, end: Buffer): boolean =>
  chunk.length >= end.length && chunk.subarray(-end.length).equals(end)

/** Another cell may do better. */
const isRetried = (status: number): boolean => status >= 500 || status === 429

/** Full or starting: not the request's fault, and not a failure of the cell either. */
const isBusy = (status: number): boolean => status === 503 || status === 429

const refusal = (body: Buffer, headers: IncomingHttpHeaders): ShoalError => {
  const seconds = Number(headers['retry-after'])
  const options = Number.isInteger(seconds) && seconds > 0 ? { retryAfterSeconds: seconds } : {}
  return new ShoalError('cell_unavailable', messageOf(body), options)
}

const messageOf = (body: Buffer): string => {
  try {
    return String(JSON.parse(body.toString('utf8')).error.message)
  } catch {
    return 'the cell refused the request'
  }
}

const readUsage = (trailer: string | string[] | undefined): Usage | undefined => {
  try {
    const usage = Usage.parse(JSON.parse(String(trailer)))
    const { prompt_tokens, completion_tokens, prompt_tokens_details: details } = usage
    const most = Math.max(prompt_tokens, completion_tokens, details?.cached_tokens ?? 0)
    return most > MAX_TOKENS ? undefined : usage
  } catch {
    return undefined
  }
}
