import type { OutgoingHttpHeaders } from 'node:http'
import { Writable } from 'node:stream'
import type { ShoalError } from '../../../shared/errors.ts'
import {
  AnswerHold,
  type AnswerMemory,
  createBusyError,
  createKeyBoundError,
} from '../../fleet/questions/answer-hold.ts'
import type { ClientResponse } from '../../gateway/dispatch/client-response.ts'
import { EventReader, type StreamEvent } from './event-reader.ts'
import { errorOf } from './inner-answer.ts'

/** Turns an answer in OpenAI's format into another one. */
export interface Translation {
  /** Translation of one stream event. */
  lines(event: StreamEvent): object[] | Promise<object[]>
  /** Pieces of the JSON for a whole answer. */
  whole(answer: unknown): Iterable<string> | AsyncIterable<string>
}

/** Outer shape of translated answers. */
export interface AnswerForm {
  /** Headers of a stream. */
  streamHeaders: OutgoingHttpHeaders
  /** Text of a line. */
  format(line: object): string
  errorBody(error: ShoalError): object
  errorStatus(error: ShoalError): number
  /** Status for a status that is not 200. */
  status(status: number): number
}

interface TranslatedParts {
  /** The client's own answer. */
  response: ClientResponse
  translation: Translation
  form: AnswerForm
  isStream: boolean
  memory: AnswerMemory
  /** Key whose share of the memory a whole answer takes until it is translated. */
  keyId: string
}

/** Longest event of a stream, in characters. */
const MAX_EVENT = 4 * 1024 * 1024

/**
 * Stands in for a client's response: writers of answers write OpenAI's format to it, the client gets
 * another one. A stream is translated as it arrives, with the client's back-pressure.
 */
export class TranslatedAnswer extends Writable implements ClientResponse {
  headersSent = false
  readonly #parts: TranslatedParts
  readonly #closed: Promise<void>
  readonly #events = new EventReader()
  readonly #hold: AnswerHold
  #status = 0
  #headers: OutgoingHttpHeaders = {}
  #pieces: Buffer[] = []
  #refusal: ShoalError | undefined

  constructor(parts: TranslatedParts) {
    super()
    this.#parts = parts
    this.#hold = new AnswerHold(parts.memory, parts.keyId, undefined, {
      onCut: () => this.destroy(),
    })
    this.#closed = new Promise(resolve => parts.response.once('close', resolve))
    void this.#closed.then(() => this.destroy())
  }

  get socket(): ClientResponse['socket'] {
    return this.#parts.response.socket
  }

  /** True while the events of a successful stream go to the client. */
  get #isPassedOn(): boolean {
    return this.#status === 200 && this.#parts.isStream
  }

  writeHead(status: number, headers: OutgoingHttpHeaders): this {
    this.headersSent = true
    this.#status = status
    const { 'content-length': _, ...rest } = headers
    this.#headers = rest
    if (this.#isPassedOn)
      this.#parts.response.writeHead(200, { ...rest, ...this.#parts.form.streamHeaders })
    return this
  }

  override _write(piece: Buffer, _encoding: string, done: () => void): void {
    if (!this.#isPassedOn) {
      this.#collect(piece)
      done()
      return
    }
    this.#translate(piece).then(
      text => {
        const { response } = this.#parts
        if (text === undefined) this.destroy()
        else if (text === '' || response.write(text)) done()
        else response.once('drain', done)
      },
      () => this.destroy(),
    )
  }

  /** Text for a piece of a stream; undefined for one that is too long. */
  async #translate(piece: Buffer): Promise<string | undefined> {
    const { translation, form } = this.#parts
    const events = this.#events.take(piece)
    if (this.#events.restLength > MAX_EVENT) return undefined
    let text = ''
    for (const event of events)
      for (const line of await translation.lines(event)) text += form.format(line)
    return text
  }

  #collect(piece: Buffer): void {
    if (this.#refusal !== undefined) return
    if (this.#hold.take(piece.length)) this.#pieces.push(piece)
    else {
      this.#refusal = this.#hold.refusedBy === 'key' ? createKeyBoundError() : createBusyError()
      this.#pieces = []
    }
  }

  override _final(done: () => void): void {
    this.#finish().then(done, () => this.destroy())
  }

  async #finish(): Promise<void> {
    if (!this.#isPassedOn) await this.#sendCollected()
    this.#parts.response.end()
    await this.#closed
  }

  async #sendCollected(): Promise<void> {
    const body = Buffer.concat(this.#pieces)
    this.#pieces = []
    const { form } = this.#parts
    if (this.#refusal !== undefined) this.#sendError(form.errorStatus(this.#refusal), this.#refusal)
    else if (this.#status !== 200) this.#sendError(form.status(this.#status), errorOf(body))
    else await this.#sendWhole(body)
  }

  #sendError(status: number, error: ShoalError): void {
    const body = JSON.stringify(this.#parts.form.errorBody(error))
    this.#writeJsonHead(status, { 'content-length': Buffer.byteLength(body) })
    this.#parts.response.write(body)
  }

  async #sendWhole(body: Buffer): Promise<void> {
    const { response, form } = this.#parts
    let hasHead = false
    try {
      for await (const piece of this.#parts.translation.whole(JSON.parse(String(body)))) {
        if (!hasHead) this.#writeJsonHead(200, {})
        hasHead = true
        if (this.destroyed) return
        if (!response.write(piece)) await this.#waitForDrain()
      }
    } catch (error) {
      if (hasHead) throw error
      const unreadable = errorOf(body)
      this.#sendError(form.errorStatus(unreadable), unreadable)
    }
  }

  #waitForDrain(): Promise<unknown> {
    const drained = new Promise(resolve => this.#parts.response.once('drain', resolve))
    return Promise.race([drained, this.#closed])
  }

  #writeJsonHead(status: number, more: OutgoingHttpHeaders): void {
    this.#parts.response.writeHead(status, {
      ...this.#headers,
      'content-type': 'application/json; charset=utf-8',
      ...more,
    })
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#hold.close()
    this.#parts.response.destroy()
    done(error)
  }
}
