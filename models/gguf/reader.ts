import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { TENSOR_TYPES, type TensorType } from './encoding.ts'
import { TYPE_NUMBERS } from './metadata.ts'
import { ALIGNMENT_BYTES } from './writer.ts'

interface GgufHeader {
  version: number
  metadata: Record<string, unknown>
  /** Offsets count from `dataStart`. */
  tensors: { name: string; shape: number[]; type: TensorType; offset: number }[]
  /** Position of the tensor data in the file, in bytes. */
  dataStart: number
}

/** Headers are a few KiB to a few MiB, most of it the vocabulary. */
const LARGEST_HEADER_BYTES = 64 * 1024 * 1024

/** Reads everything before the tensor data. Supports the value types that the writer uses. */
export const readGgufHeader = (path: string): GgufHeader => {
  const cursor = new Cursor(readStart(path))
  if (cursor.take(4).toString('latin1') !== 'GGUF') throw new Error(`${path} is not a GGUF file`)
  const version = cursor.u32()
  const tensorCount = cursor.u64()
  const metadataCount = cursor.u64()
  const metadata: Record<string, unknown> = {}
  for (let i = 0; i < metadataCount; i++) {
    const key = cursor.string()
    metadata[key] = cursor.value(cursor.u32())
  }
  const tensors = Array.from({ length: tensorCount }, () => ({
    name: cursor.string(),
    shape: Array.from({ length: cursor.u32() }, () => cursor.u64()),
    type: tensorType(cursor.u32()),
    offset: cursor.u64(),
  }))
  const dataStart = Math.ceil(cursor.position / ALIGNMENT_BYTES) * ALIGNMENT_BYTES
  return { version, metadata, tensors, dataStart }
}

const readStart = (path: string): Buffer => {
  const start = Buffer.alloc(Math.min(statSync(path).size, LARGEST_HEADER_BYTES))
  const file = openSync(path, 'r')
  try {
    readSync(file, start)
  } finally {
    closeSync(file)
  }
  return start
}

const tensorType = (number: number): TensorType => {
  const found = Object.entries(TENSOR_TYPES).find(([, value]) => value === number)
  if (found === undefined) throw new RangeError(`tensor type ${number} is not known here`)
  return found[0] as TensorType
}

class Cursor {
  readonly #bytes: Buffer
  #position = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Number of bytes that were read. */
  get position(): number {
    return this.#position
  }

  take(length: number): Buffer {
    this.#position += length
    return this.#bytes.subarray(this.#position - length, this.#position)
  }

  u32(): number {
    return this.take(4).readUInt32LE()
  }

  u64(): number {
    return Number(this.take(8).readBigUInt64LE())
  }

  string(): string {
    return this.take(this.u64()).toString('utf8')
  }

  value(type: number): unknown {
    switch (type) {
      case TYPE_NUMBERS.u32:
        return this.u32()
      case TYPE_NUMBERS.i32:
        return this.take(4).readInt32LE()
      case TYPE_NUMBERS.f32:
        return this.take(4).readFloatLE()
      case TYPE_NUMBERS.bool:
        return this.take(1)[0] === 1
      case TYPE_NUMBERS.string:
        return this.string()
      case TYPE_NUMBERS.array: {
        const element = this.u32()
        return Array.from({ length: this.u64() }, () => this.value(element))
      }
      default:
        throw new RangeError(`metadata type ${type} is not known here`)
    }
  }
}
