import type { AnswerHeaders } from '../../fleet/cells/cell-link.ts'
import type { AnswerHold, HoldOwner } from '../../fleet/questions/answer-hold.ts'
import type { HeldPieces } from '../../fleet/questions/held-pieces.ts'

/**
 * What a client was not sent yet: its whole answer, or the last words of a stream. It is kept until
 * the answer is on record, by the cascade perhaps longer, and must be sent or discarded.
 */
export class AnswerRest implements HoldOwner {
  /** Headers that still have to be sent. */
  readonly answer: AnswerHeaders | undefined
  readonly hold: AnswerHold
  readonly #pieces: HeldPieces
  #isDiscarded = false

  /** @param hold of an answer that has all it needs from its cell */
  constructor(pieces: HeldPieces, hold: AnswerHold, answer: AnswerHeaders | undefined) {
    this.answer = answer
    this.hold = hold
    this.#pieces = pieces
    hold.settle()
  }

  /** Lets a smaller holder take the memory, as long as the client may still get another answer. */
  allowCut(): void {
    this.hold.passTo(this)
  }

  /** Keeps the memory, as at first: the client gets this answer. */
  forbidCut(): void {
    this.hold.settle()
  }

  get bytes(): number {
    return this.#pieces.bytes
  }

  /** True when the bytes are gone, perhaps because a smaller holder needed the memory. */
  get isDiscarded(): boolean {
    return this.#isDiscarded
  }

  /** Returns all of it; for rests that are small. */
  take(): Buffer {
    const bytes = this.#pieces.toBuffer()
    this.discard()
    return bytes
  }

  /** Returns the next piece; undefined at the end. */
  shift(): Buffer | undefined {
    return this.#pieces.shift()
  }

  discard(): void {
    this.#isDiscarded = true
    this.#pieces.clear()
    this.hold.close()
  }

  onCut(): void {
    this.discard()
  }
}
