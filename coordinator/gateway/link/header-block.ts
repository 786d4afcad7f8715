import { ERROR_CODE, SessionFault } from './fault.ts'

/** Limit of a block: no encoding makes a block longer than its header list. */
const MAX_BLOCK_BYTES = 64 * 1024
/** Limit of frames per block; 16 KiB each, so more of them only waste the coordinator's time. */
const MAX_PIECES = 16

/** A header block that is split over several frames (RFC 9113, section 6.10). */
export class HeaderBlock {
  readonly id: number
  readonly isEnd: boolean
  readonly #pieces: Buffer[] = []
  #bytes = 0

  /** @param isEnd true when the block ends its stream */
  constructor(id: number, isEnd: boolean) {
    this.id = id
    this.isEnd = isEnd
  }

  /** @throws SessionFault when the block becomes too large */
  add(piece: Buffer): void {
    this.#bytes += piece.length
    if (this.#pieces.push(piece) > MAX_PIECES || this.#bytes > MAX_BLOCK_BYTES)
      throw new SessionFault(ERROR_CODE.calm, 'a header block that does not end')
  }

  join(): Buffer {
    return Buffer.concat(this.#pieces)
  }
}
