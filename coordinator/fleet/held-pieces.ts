/** A smaller piece costs more than it holds, and keeps all that came from the socket with it. */
const LARGE_BYTES = 4096
const LEAST_BLOCK_BYTES = 1024
const MOST_BLOCK_BYTES = 64 * 1024
const EMPTY = Buffer.alloc(0)

/**
 * Bytes that are kept until they are whole, in about as much memory as they have, in whatever pieces
 * they come. The first piece is not copied: it is mostly all there is.
 */
export class HeldPieces {
  #pieces: Buffer[] = []
  /** Pieces that `shift` has returned. */
  #shifted = 0
  #bytes = 0
  /**
   * Buffer for copies of small pieces; its bytes from `#start` to before `#end` are not in
   * `#pieces` yet.
   */
  #block = EMPTY
  #start = 0
  #end = 0

  get bytes(): number {
    return this.#bytes
  }

  get lastByte(): number | undefined {
    return this.#end > this.#start ? this.#block[this.#end - 1] : this.#pieces.at(-1)?.at(-1)
  }

  /** @param piece must stay as it is */
  add(piece: Buffer): void {
    if (piece.length === 0) return
    if (this.#bytes === 0 || piece.length >= LARGE_BYTES) {
      this.#seal()
      this.#pieces.push(piece)
    } else this.#copy(piece)
    this.#bytes += piece.length
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

  clear(): void {
    if (this.#pieces.length === 0 && this.#bytes === 0) return
    this.#pieces = []
    this.#shifted = 0
    this.#bytes = 0
    this.#block = EMPTY
    this.#start = 0
    this.#end = 0
  }

  #copy(piece: Buffer): void {
    if (this.#end + piece.length > this.#block.length) {
      this.#seal()
      const wanted = Math.min(Math.max(this.#bytes, LEAST_BLOCK_BYTES), MOST_BLOCK_BYTES)
      this.#block = Buffer.allocUnsafeSlow(Math.max(wanted, piece.length))
      this.#start = 0
      this.#end = 0
    }
    this.#end += piece.copy(this.#block, this.#end)
  }

  #seal(): void {
    if (this.#end === this.#start) return
    this.#pieces.push(this.#block.subarray(this.#start, this.#end))
    this.#start = this.#end
  }
}
