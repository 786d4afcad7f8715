import type { Socket } from 'node:net'
import { HEAD_BYTES } from './frames.ts'

/** Memory that small pieces are written into, one after the other. */
interface Slab {
  bytes: Buffer
  used: number
}

const SLAB_BYTES = 64 * 1024
/** From here on a piece is passed on as it is instead of being copied. */
const LARGE_BYTES = 4096
/** Less room than this is not worth keeping. */
const LEAST_BYTES = 1024
/** Shared by all sessions, so that one that is silent has none. */
const spare: Slab[] = []
const MAX_SPARE = 16

/** Outputs that have something to write in this turn of the event loop. */
let due: Output[] = []

const flushDue = (): void => {
  const outputs = due
  due = []
  for (const output of outputs) output.flush()
}

/**
 * What goes to one socket: all of one turn of the event loop in one write, in the order in which it
 * was put.
 */
export class Output {
  readonly #socket: Socket
  #slab: Slab | undefined
  /** Where in the slab the part begins that is not a piece yet. */
  #start = 0
  #pieces: Buffer[] = []
  #isDue = false

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** The head of a frame whose payload of `length` bytes is put next. */
  head(length: number, type: number, flags: number, id: number): void {
    const { bytes, used } = this.#room(HEAD_BYTES)
    bytes.writeUIntBE(length, used, 3)
    bytes[used + 3] = type
    bytes[used + 4] = flags
    bytes.writeUInt32BE(id, used + 5)
    this.#took(HEAD_BYTES)
  }

  uint16(value: number): void {
    const { bytes, used } = this.#room(2)
    bytes.writeUInt16BE(value, used)
    this.#took(2)
  }

  uint32(value: number): void {
    const { bytes, used } = this.#room(4)
    bytes.writeUInt32BE(value, used)
    this.#took(4)
  }

  /** Large ones are not copied, and must stay as they are. */
  put(source: Buffer, start: number, end: number): void {
    const length = end - start
    if (length >= LARGE_BYTES) {
      this.#seal()
      this.#pieces.push(source.subarray(start, end))
    } else this.copy(source, start, end)
  }

  /** At most 16 KiB, of what may be changed after this. */
  copy(source: Buffer, start: number, end: number): void {
    const length = end - start
    const { bytes, used } = this.#room(length)
    source.copy(bytes, used, start, end)
    this.#took(length)
  }

  flush(): void {
    this.#seal()
    this.#isDue = false
    const pieces = this.#pieces
    if (pieces.length === 0) return
    this.#pieces = []
    if (this.#socket.destroyed) return
    if (pieces.length > 1) this.#socket.cork()
    for (const piece of pieces) this.#socket.write(piece)
    if (pieces.length > 1) this.#socket.uncork()
  }

  #room(bytes: number): Slab {
    if (!this.#isDue) {
      this.#isDue = true
      if (due.push(this) === 1) setImmediate(flushDue)
    }
    if (this.#slab !== undefined && this.#slab.used + bytes > SLAB_BYTES) this.#seal()
    if (this.#slab === undefined) {
      this.#slab = spare.pop() ?? { bytes: Buffer.allocUnsafeSlow(SLAB_BYTES), used: 0 }
      if (this.#slab.used + bytes > SLAB_BYTES)
        this.#slab = { bytes: Buffer.allocUnsafeSlow(SLAB_BYTES), used: 0 }
      this.#start = this.#slab.used
    }
    return this.#slab
  }

  #took(bytes: number): void {
    if (this.#slab !== undefined) this.#slab.used += bytes
  }

  #seal(): void {
    const slab = this.#slab
    if (slab === undefined) return
    this.#slab = undefined
    if (slab.used > this.#start) this.#pieces.push(slab.bytes.subarray(this.#start, slab.used))
    if (SLAB_BYTES - slab.used >= LEAST_BYTES && spare.length < MAX_SPARE) spare.push(slab)
  }
}
