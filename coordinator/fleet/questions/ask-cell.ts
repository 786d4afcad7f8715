import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { systemRuntime, timeoutSignal } from '../../../shared/runtime.ts'
import { CAPABILITY } from '../../../shared/wire/capability.ts'
import { HEADER_CAPABILITY } from '../../../shared/wire/link.ts'
import type { AnswerListener, CellLink, CellRequest } from '../cells/cell-link.ts'
import type { Fleet } from '../cells/fleet.ts'
import { HeldPieces } from './held-pieces.ts'

/** A question to one cell, over its link. */
export interface CellQuestion {
  path: string
  /** JSON body; with one the question is a POST. */
  body?: object
  /** Requested data, worded for the end of a sentence: `its metrics`. */
  what: string
  /** Size of the whole answer. */
  maxBytes: number
  /** Time limit from the request to the end of the answer. */
  maxSeconds: number
}

/**
 * The whole answer of a cell. Throws `not_found` for a cell that is not enrolled,
 * `cell_unavailable` for one that is away or whose answer was cut off, late or too long.
 */
export const askCell = async (
  fleet: Pick<Fleet, 'cell'>,
  cellId: string,
  question: CellQuestion,
  signal: AbortSignal,
): Promise<{ status: number; text: string }> => {
  const link = linkTo(fleet, cellId)
  const limited = limitTime(question, signal)
  try {
    return await ask(link, question, limited)
  } catch (cause) {
    if (cause instanceof ShoalError) throw cause
    throw createNoAnswerError(cellId, question, cause, limited)
  }
}

/** The link to a cell. @throws ShoalError not_found or cell_unavailable */
export const linkTo = (fleet: Pick<Fleet, 'cell'>, cellId: string): CellLink => {
  const cell = fleet.cell(cellId)
  if (cell === undefined) throw createUnknownError('cell', cellId)
  if (cell.link === undefined) throw createCellUnavailableError(cellId, 'has no link now')
  return cell.link
}

/** Aborts when the caller does, and with a `TimeoutError` when the question has had its time. */
export const limitTime = ({ maxSeconds }: CellQuestion, signal: AbortSignal): AbortSignal =>
  AbortSignal.any([signal, timeoutSignal(systemRuntime, maxSeconds * 1000)])

export const requestFor = ({ path, body }: CellQuestion): CellRequest =>
  body === undefined
    ? { method: 'GET', path }
    : {
        method: 'POST',
        path,
        headers: { 'content-type': 'application/json', [HEADER_CAPABILITY]: String(CAPABILITY) },
        body: Buffer.from(JSON.stringify(body)),
      }

export const createCellUnavailableError = (
  cellId: string,
  why: string,
  cause?: unknown,
): ShoalError => new ShoalError('cell_unavailable', `cell ${cellId} ${why}`, { cause })

/** The error for an answer that did not come to its end. */
export const createNoAnswerError = (
  cellId: string,
  { what, maxSeconds }: CellQuestion,
  cause: unknown,
  limited: AbortSignal,
): ShoalError => {
  const isLate = limited.aborted && limited.reason.name === 'TimeoutError'
  const why = isLate ? `not within ${maxSeconds} s` : (cause as Error).message
  return createCellUnavailableError(cellId, `did not answer for ${what}: ${why}`, cause)
}

const ask = async (link: CellLink, question: CellQuestion, signal: AbortSignal) => {
  signal.throwIfAborted()
  const answer = new Answer(question.maxBytes)
  const stream = link.request(requestFor(question), answer)
  const cancel = () => stream.cancel()
  answer.onOverflow = cancel
  signal.addEventListener('abort', cancel)
  try {
    return await answer.whole
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/** Keeps an answer until it is whole. */
class Answer implements AnswerListener {
  readonly #maxBytes: number
  readonly #settle = Promise.withResolvers<{ status: number; text: string }>()
  readonly #held = new HeldPieces()
  #bytes = 0
  #status = 0
  onOverflow: () => void = () => {}

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get whole(): Promise<{ status: number; text: string }> {
    return this.#settle.promise
  }

  onHead(status: number): void {
    this.#status = status
  }

  onData(piece: Buffer): boolean {
    this.#bytes += piece.length
    if (this.#bytes <= this.#maxBytes) return this.#held.add(piece)
    this.onOverflow()
    return true
  }

  onTrailers(): void {}

  onClose(isWhole: boolean): void {
    const text = this.#held.toBuffer().toString('utf8')
    if (isWhole) this.#settle.resolve({ status: this.#status, text })
    else if (this.#bytes > this.#maxBytes)
      this.#settle.reject(new Error(`more than ${this.#maxBytes} bytes`))
    else this.#settle.reject(new Error('the stream was cut'))
  }
}
