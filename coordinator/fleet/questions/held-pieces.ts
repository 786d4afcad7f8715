import { releaseMemory } from '../../kernel/base/release-memory.ts'

const LEAST_BLOCK_BYTES = 1024
/** Size of a large block: `malloc` returns it to the system (`MALLOC_MMAP_THRESHOLD_` of the unit). */
const MOST_BLOCK_BYTES = 256 * 1024
const EMPTY = Buffer.alloc(0)

/**
 * Bytes that are kept until they are whole, in about as much memory as they have, in whatever pieces
 * they come. A piece is a part of one read of the link and keeps all of that read in memory, with the
 * pieces of other answers, so pieces are copied into blocks. The first one is not: it is mostly all
 * there is.
 */
export class HeldPieces {
  /** The first piece and the full blocks. */
  #pieces: Buffer[] = []
  /** Pieces that `shift` has returned. */
  #shifted = 0
  #bytes = 0
  /** Buffer for copies of pieces; its bytes before `#end` are not in `#pieces` yet. */
  #block = EMPTY
  #end = 0

  get bytes(): number {
    return this.#bytes
  }

  get lastByte(): number | undefined {
    return this.#end > 0 ? this.#block[this.#end - 1] : this.#pieces.at(-1)?.at(-1)
  }

  /**
   * Returns true when the piece was copied; else it must stay as it is.
   */
  add(piece: Buffer): boolean {
    if (piece.length === 0) return true
    const isFirst = this.#bytes === 0
    this.#bytes += piece.length
    if (!isFirst) this.#copy(piece)
    else {
      this.#pieces = [piece]
      this.#shifted = 0
    }
    return !isFirst
  }

  /** All of it, and `last` behind it. */
  toBuffer(last?: Buffer): Buffer {
    this.#seal()
    const pieces = last === undefined ? this.#pieces : [...this.#pieces, last]
    return pieces.length === 1 ? (pieces[0] ?? EMPTY) : Buffer.concat(pieces)
  }

  /** Removes the first piece, so that its memory is released with it; undefined when none is left. */
  shift(): Buffer | undefined {
    this.#seal()
    const piece = this.#pieces[this.#shifted]
    if (piece === undefined) return undefined
    this.#pieces[this.#shifted++] = EMPTY
    this.#bytes -= piece.length
    return piece
  }

  /** Releases large blocks at once: the next garbage collection may be many answers away. */
  clear(): void {
    if (this.#pieces.length === 0) return
    this.#seal()
    for (const block of this.#pieces.slice(Math.max(1, this.#shifted)))
      releaseMemory(Buffer.from(block.buffer))
    this.#pieces = []
    this.#shifted = 0
    this.#bytes = 0
  }

  #copy(piece: Buffer): void {
    if (this.#end + piece.length > this.#block.length) {
      this.#seal()
      const wanted = Math.min(Math.max(this.#bytes, LEAST_BLOCK_BYTES), MOST_BLOCK_BYTES)
      this.#block = Buffer.allocUnsafeSlow(Math.max(wanted, piece.length))
    }
    this.#end += piece.copy(this.#block, this.#end)
  }

  #seal(): void {
    if (this.#end === 0) return
    this.#pieces.push(this.#block.subarray(0, this.#end))
    this.#block = EMPTY
    this.#end = 0
  }
}
