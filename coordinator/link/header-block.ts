import { CODE, SessionFault } from './fault.ts'

/** As long as a list may be: no code makes it longer than its text. */
const MAX_BLOCK_BYTES = 64 * 1024
/** A frame has 16 KiB; more are no use but to hold somebody up. */
const MAX_PIECES = 16

/** A header block that comes in several frames (RFC 9113, section 6.10). */
export class HeaderBlock {
  readonly id: number
  readonly isEnd: boolean
  readonly #pieces: Buffer[] = []
  #bytes = 0

  /** @param isEnd nothing follows the block on its stream */
  constructor(id: number, isEnd: boolean) {
    this.id = id
    this.isEnd = isEnd
  }

  /** @throws SessionFault when it becomes too large */
  add(piece: Buffer): void {
    this.#bytes += piece.length
    if (this.#pieces.push(piece) > MAX_PIECES || this.#bytes > MAX_BLOCK_BYTES)
      throw new SessionFault(CODE.calm, 'a header block that does not end')
  }

  whole(): Buffer {
    return Buffer.concat(this.#pieces)
  }
}
