import { CODE, SessionFault } from './fault.ts'

/** Types of frames, RFC 9113, section 6. */
export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

export const FLAG = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 0x20 } as const

export const HEAD_BYTES = 9
/** The largest payload that is taken, and the largest that a peer takes unless it says otherwise. */
export const MAX_FRAME_BYTES = 16_384

export interface FrameSink {
  /** The payload is `bytes` from `start` to before `end`, which stays as it is. */
  frame(type: number, flags: number, id: number, bytes: Buffer, start: number, end: number): void
}

/**
 * Makes frames of what comes from a socket, in whatever pieces. What lies whole in a piece is not
 * copied; of a frame that does not, no more is kept than that frame.
 */
export class FrameReader {
  readonly #sink: FrameSink
  /** The beginning of a frame, with room for the rest of it or of its head. */
  #part: Buffer | undefined
  #partBytes = 0
  #isStopped = false

  constructor(sink: FrameSink) {
    this.#sink = sink
  }

  /** @throws SessionFault for a frame that is too large, and what the sink throws */
  read(piece: Buffer): void {
    let at = this.#part === undefined ? 0 : this.#complete(piece)
    while (!this.#isStopped && piece.length - at >= HEAD_BYTES) {
      const end = at + HEAD_BYTES + lengthAt(piece, at)
      if (end > piece.length) break
      this.#emit(piece, at, end)
      at = end
    }
    if (!this.#isStopped && at < piece.length) this.#keep(piece, at)
  }

  /** No frame is told any more. */
  stop(): void {
    this.#isStopped = true
    this.#part = undefined
  }

  #keep(piece: Buffer, at: number): void {
    const isHead = piece.length - at < HEAD_BYTES
    this.#part = Buffer.allocUnsafe(HEAD_BYTES + (isHead ? 0 : lengthAt(piece, at)))
    this.#partBytes = piece.copy(this.#part, 0, at)
  }

  /** Adds to what was kept; says how many bytes it took. */
  #complete(piece: Buffer): number {
    let taken = 0
    while (this.#part !== undefined) {
      const part = this.#part
      const copied = piece.copy(part, this.#partBytes, taken)
      taken += copied
      this.#partBytes += copied
      if (this.#partBytes < part.length) break
      const bytes = HEAD_BYTES + lengthAt(part, 0)
      if (bytes > part.length) {
        this.#part = Buffer.allocUnsafe(bytes)
        part.copy(this.#part)
      } else {
        this.#part = undefined
        this.#emit(part, 0, bytes)
      }
    }
    return taken
  }

  #emit(bytes: Buffer, at: number, end: number): void {
    const type = bytes[at + 3] as number
    const flags = bytes[at + 4] as number
    const id = uint31At(bytes, at + 5)
    this.#sink.frame(type, flags, id, bytes, at + HEAD_BYTES, end)
  }
}

/** The upper bit is reserved and ignored. */
export const uint31At = (bytes: Buffer, at: number): number => bytes.readUInt32BE(at) & 0x7fffffff

const lengthAt = (bytes: Buffer, at: number): number => {
  const length = bytes.readUIntBE(at, 3)
  if (length > MAX_FRAME_BYTES)
    throw new SessionFault(CODE.frameSize, `a frame of ${length} bytes, more than was allowed`)
  return length
}

/** Where the content of a frame begins and ends, without its padding (RFC 9113, section 6.1). */
export const withoutPadding = (
  flags: number,
  bytes: Buffer,
  start: number,
  end: number,
): [start: number, end: number] => {
  if ((flags & FLAG.padded) === 0) return [start, end]
  const padding = bytes[start] as number
  if (start === end || padding >= end - start)
    throw new SessionFault(CODE.protocol, 'more padding than there is frame')
  return [start + 1, end - padding]
}
