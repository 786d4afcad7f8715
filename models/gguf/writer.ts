import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { encodedBytes, encodeValues, TENSOR_TYPES, type TensorType } from './encoding.ts'
import { encodeMetadata, encodeString, encodeU32, encodeU64, type Metadata } from './metadata.ts'

/** Every tensor starts at a multiple of this (`general.alignment`, its default). */
export const ALIGNMENT_BYTES = 32

export interface WrittenTensor {
  name: string
  type: TensorType
  /** Row length (input size) first, then the number of rows: the reverse of torch's order. */
  shape: readonly number[]
  /** The values, row after row, in pieces of any whole number of rows. */
  values: () => Iterable<Float32Array>
}

/**
 * Writes a GGUF version 3 file. Tensors are made, encoded and written piece by piece, so that a
 * model never has to fit into memory. The file appears under its name only when it is complete.
 */
export const writeGguf = (
  path: string,
  metadata: Metadata,
  tensors: readonly WrittenTensor[],
): void => {
  const unfinished = `${path}.${process.pid}.part`
  const file = openSync(unfinished, 'w')
  try {
    const header = encodeHeader(metadata, tensors)
    writeSync(file, header)
    writeSync(file, padding(header.length))
    for (const tensor of tensors) writeTensor(file, tensor)
  } catch (error) {
    rmSync(unfinished)
    throw error
  } finally {
    closeSync(file)
  }
  renameSync(unfinished, path)
}

const valueCount = (tensor: Pick<WrittenTensor, 'shape'>): number =>
  tensor.shape.reduce((product, size) => product * size, 1)

const encodeHeader = (metadata: Metadata, tensors: readonly WrittenTensor[]): Buffer =>
  Buffer.concat([
    Buffer.from('GGUF'),
    encodeU32(3),
    encodeU64(tensors.length),
    encodeU64(Object.keys(metadata).length),
    encodeMetadata(metadata),
    encodeTensorList(tensors),
  ])

const encodeTensorList = (tensors: readonly WrittenTensor[]): Buffer => {
  let offset = 0
  const entries = tensors.map(tensor => {
    const entry = Buffer.concat([
      encodeString(tensor.name),
      encodeU32(tensor.shape.length),
      ...tensor.shape.map(encodeU64),
      encodeU32(TENSOR_TYPES[tensor.type]),
      encodeU64(offset),
    ])
    const bytes = encodedBytes(tensor.type, valueCount(tensor))
    offset += bytes + padding(bytes).length
    return entry
  })
  return Buffer.concat(entries)
}

const writeTensor = (file: number, tensor: WrittenTensor): void => {
  let written = 0
  for (const values of tensor.values()) {
    written += writeSync(file, encodeValues(tensor.type, values))
  }
  const expected = encodedBytes(tensor.type, valueCount(tensor))
  if (written !== expected) {
    throw new RangeError(`tensor ${tensor.name} has ${written} bytes, expected ${expected}`)
  }
  writeSync(file, padding(written))
}

const padding = (length: number): Buffer =>
  Buffer.alloc((ALIGNMENT_BYTES - (length % ALIGNMENT_BYTES)) % ALIGNMENT_BYTES)
