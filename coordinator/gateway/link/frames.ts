import { releaseMemory } from '../../kernel/base/release-memory.ts'
import { ERROR_CODE, SessionFault } from './fault.ts'

/** Frame types (RFC 9113, section 6). */
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
/** Largest payload that is accepted, and the default limit of a peer. */
export const MAX_FRAME_BYTES = 16_384

export interface FrameSink {
  /**
   * Handles one frame. Its payload is `bytes` from `start` up to `end` and is never modified, but
   * its memory may be released when the call returns true: nobody needs the bytes any longer.
   */
  handleFrame(
    type: number,
    flags: number,
    id: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): boolean
}

/**
 * Splits the bytes of a socket into frames, however they are cut into pieces. A frame that lies
 * within one piece is not copied; at most one incomplete frame is buffered. A large piece of which
 * nobody needs a byte any longer is released at once.
 */
export class FrameReader {
  readonly #sink: FrameSink
  /** Buffer of an incomplete frame, with room for the rest of the frame or of its head. */
  #part: Buffer | undefined
  #partBytes = 0
  #isStopped = false

  constructor(sink: FrameSink) {
    this.#sink = sink
  }

  /**
   * @param piece belongs to the reader from now on
   * @throws SessionFault for a frame that is too large, and anything that the sink throws
   */
  read(piece: Buffer): void {
    let at = this.#part === undefined ? 0 : this.#completePart(piece)
    let isDone = true
    while (!this.#isStopped && piece.length - at >= HEAD_BYTES) {
      const end = at + HEAD_BYTES + readLength(piece, at)
      if (end > piece.length) break
      isDone = this.#emitFrame(piece, at, end) && isDone
      at = end
    }
    if (!this.#isStopped && at < piece.length) this.#keepPart(piece, at)
    if (isDone) releaseMemory(piece)
  }

  /** Stops reading: the sink receives no further frame, not even of the current piece. */
  stop(): void {
    this.#isStopped = true
    this.#part = undefined
  }

  #keepPart(piece: Buffer, at: number): void {
    const isHead = piece.length - at < HEAD_BYTES
    this.#part = Buffer.allocUnsafe(HEAD_BYTES + (isHead ? 0 : readLength(piece, at)))
    this.#partBytes = piece.copy(this.#part, 0, at)
  }

  /** Completes the buffered frame; returns the number of bytes taken from the piece. */
  #completePart(piece: Buffer): number {
    let taken = 0
    while (this.#part !== undefined) {
      const part = this.#part
      const copied = piece.copy(part, this.#partBytes, taken)
      taken += copied
      this.#partBytes += copied
      if (this.#partBytes < part.length) break
      const bytes = HEAD_BYTES + readLength(part, 0)
      if (bytes > part.length) {
        this.#part = Buffer.allocUnsafe(bytes)
        part.copy(this.#part)
      } else {
        this.#part = undefined
        if (this.#emitFrame(part, 0, bytes)) releaseMemory(part)
      }
    }
    return taken
  }

  #emitFrame(bytes: Buffer, at: number, end: number): boolean {
    const type = bytes[at + 3] as number
    const flags = bytes[at + 4] as number
    const id = readUint31(bytes, at + 5)
    return this.#sink.handleFrame(type, flags, id, bytes, at + HEAD_BYTES, end)
  }
}

/** Reads 31 bits; the reserved upper bit is ignored. */
export const readUint31 = (bytes: Buffer, at: number): number => bytes.readUInt32BE(at) & 0x7fffffff

const readLength = (bytes: Buffer, at: number): number => {
  const length = bytes.readUIntBE(at, 3)
  if (length > MAX_FRAME_BYTES)
    throw new SessionFault(
      ERROR_CODE.frameSize,
      `a frame of ${length} bytes, over the limit of ${MAX_FRAME_BYTES}`,
    )
  return length
}

/** Returns the bounds of a frame's content without its padding (RFC 9113, section 6.1). */
export const stripPadding = (
  flags: number,
  bytes: Buffer,
  start: number,
  end: number,
): [start: number, end: number] => {
  if ((flags & FLAG.padded) === 0) return [start, end]
  const padding = bytes[start] as number
  if (start === end || padding >= end - start)
    throw new SessionFault(ERROR_CODE.protocol, 'more padding than payload')
  return [start + 1, end - padding]
}
