import { ShoalError } from '../../shared/errors.ts'
import type { AnswerListener, CellLink } from './cell-link.ts'
import type { Fleet } from './fleet.ts'
import { HeldPieces } from './held-pieces.ts'

export interface Question {
  path: string
  /** What is asked for, at the end of a sentence: `its metrics`. */
  what: string
  maxBytes: number
}

/**
 * One short question to a cell over its link. Throws `not_found` for a cell nobody enrolled,
 * `cell_unavailable` for one that is away or whose answer was cut off or too long.
 */
export const askCell = async (
  fleet: Pick<Fleet, 'cell'>,
  cellId: string,
  question: Question,
  signal: AbortSignal,
): Promise<{ status: number; text: string }> => {
  const cell = fleet.cell(cellId)
  if (cell === undefined) throw new ShoalError('not_found', `no cell ${cellId}`)
  if (cell.link === undefined) throw unavailable(cellId, 'has no link now')
  try {
    return await ask(cell.link, question, signal)
  } catch (cause) {
    if (cause instanceof ShoalError) throw cause
    throw unavailable(cellId, `did not tell ${question.what}`, cause)
  }
}

export const unavailable = (cellId: string, why: string, cause?: unknown): ShoalError =>
  new ShoalError('cell_unavailable', `cell ${cellId} ${why}`, { cause })

const ask = async (link: CellLink, { path, maxBytes }: Question, signal: AbortSignal) => {
  signal.throwIfAborted()
  const answer = new Answer(maxBytes)
  const stream = link.request({ method: 'GET', path }, answer)
  const cancel = () => stream.cancel()
  answer.tooLong = cancel
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
  tooLong: () => void = () => {}

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get whole(): Promise<{ status: number; text: string }> {
    return this.#settle.promise
  }

  head(status: number): void {
    this.#status = status
  }

  data(piece: Buffer): void {
    this.#bytes += piece.length
    if (this.#bytes <= this.#maxBytes) this.#held.add(piece)
    else this.tooLong()
  }

  trailers(): void {}

  silent(): void {}

  closed(isWhole: boolean): void {
    const text = this.#held.whole().toString('utf8')
    if (isWhole) this.#settle.resolve({ status: this.#status, text })
    else if (this.#bytes > this.#maxBytes)
      this.#settle.reject(new Error(`more than ${this.#maxBytes} bytes`))
    else this.#settle.reject(new Error('the stream was cut'))
  }
}
