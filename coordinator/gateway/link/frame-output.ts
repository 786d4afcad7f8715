import type { Socket } from 'node:net'
import { systemRuntime } from '../../../shared/runtime.ts'
import { HEAD_BYTES } from './frames.ts'

/** Memory into which small pieces are written one after the other. */
interface Slab {
  bytes: Buffer
  used: number
}

const SLAB_BYTES = 64 * 1024
/** Size from which a piece is written as it is instead of being copied. */
const LARGE_BYTES = 4096
/** A slab with less free room than this is dropped. */
const LEAST_BYTES = 1024
/** Slabs shared by all sessions, so that an idle session holds none. */
const spare: Slab[] = []
const MAX_SPARE = 16

/** Outputs with something to write in this turn of the event loop. */
let pending: FrameOutput[] = []

const flushPending = (): void => {
  const outputs = pending
  pending = []
  for (const output of outputs) output.flush()
}

/**
 * Writes frames to one socket: everything put during one turn of the event loop in a single write, in
 * order.
 */
export class FrameOutput {
  readonly #socket: Socket
  #slab: Slab | undefined
  /** Offset in the slab of the bytes that are not part of a piece yet. */
  #start = 0
  #pieces: Buffer[] = []
  #isPending = false

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Puts the head of a frame; its payload of `length` bytes must be put next. */
  putHead(length: number, type: number, flags: number, id: number): void {
    const { bytes, used } = this.#reserve(HEAD_BYTES)
    bytes.writeUIntBE(length, used, 3)
    bytes[used + 3] = type
    bytes[used + 4] = flags
    bytes.writeUInt32BE(id, used + 5)
    this.#advance(HEAD_BYTES)
  }

  putUint16(value: number): void {
    const { bytes, used } = this.#reserve(2)
    bytes.writeUInt16BE(value, used)
    this.#advance(2)
  }

  putUint32(value: number): void {
    const { bytes, used } = this.#reserve(4)
    bytes.writeUInt32BE(value, used)
    this.#advance(4)
  }

  /** Puts bytes that must not change afterwards: large pieces are not copied. */
  put(source: Buffer, start: number, end: number): void {
    const length = end - start
    if (length >= LARGE_BYTES) {
      this.#sealPiece()
      this.#pieces.push(source.subarray(start, end))
    } else this.copy(source, start, end)
  }

  /** Copies at most 16 KiB, which may change afterwards. */
  copy(source: Buffer, start: number, end: number): void {
    const length = end - start
    const { bytes, used } = this.#reserve(length)
    source.copy(bytes, used, start, end)
    this.#advance(length)
  }

  flush(): void {
    this.#sealPiece()
    this.#isPending = false
    const pieces = this.#pieces
    if (pieces.length === 0) return
    this.#pieces = []
    if (this.#socket.destroyed) return
    if (pieces.length > 1) this.#socket.cork()
    for (const piece of pieces) this.#socket.write(piece)
    if (pieces.length > 1) this.#socket.uncork()
  }

  #reserve(bytes: number): Slab {
    if (!this.#isPending) {
      this.#isPending = true
      if (pending.push(this) === 1) systemRuntime.setImmediate(flushPending)
    }
    if (this.#slab !== undefined && this.#slab.used + bytes > SLAB_BYTES) this.#sealPiece()
    if (this.#slab === undefined) {
      this.#slab = spare.pop() ?? { bytes: Buffer.allocUnsafeSlow(SLAB_BYTES), used: 0 }
      if (this.#slab.used + bytes > SLAB_BYTES)
        this.#slab = { bytes: Buffer.allocUnsafeSlow(SLAB_BYTES), used: 0 }
      this.#start = this.#slab.used
    }
    return this.#slab
  }

  #advance(bytes: number): void {
    if (this.#slab !== undefined) this.#slab.used += bytes
  }

  #sealPiece(): void {
    const slab = this.#slab
    if (slab === undefined) return
    this.#slab = undefined
    if (slab.used > this.#start) this.#pieces.push(slab.bytes.subarray(this.#start, slab.used))
    if (SLAB_BYTES - slab.used >= LEAST_BYTES && spare.length < MAX_SPARE) spare.push(slab)
  }
}
