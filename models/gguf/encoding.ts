/** Storage formats of tensors; the numbers are `ggml_type` in ggml.h. */
export const TENSOR_TYPES = { F32: 0, F16: 1, Q8_0: 8 } as const
export type TensorType = keyof typeof TENSOR_TYPES

/** A Q8_0 block: one 16-bit scale, then 32 signed bytes (`block_q8_0` in ggml-common.h). */
const Q8_BLOCK_VALUES = 32
const Q8_BLOCK_BYTES = 2 + Q8_BLOCK_VALUES

export const encodedBytes = (type: TensorType, valueCount: number): number => {
  switch (type) {
    case 'F32':
      return valueCount * 4
    case 'F16':
      return valueCount * 2
    case 'Q8_0':
      return (valueCount / Q8_BLOCK_VALUES) * Q8_BLOCK_BYTES
  }
}

/** Encodes values for storage; Q8_0 needs a multiple of 32. */
export const encodeValues = (type: TensorType, values: Float32Array): Uint8Array => {
  switch (type) {
    case 'F32':
      return new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
    case 'F16':
      return encodeF16(values)
    case 'Q8_0':
      return encodeQ8(values)
  }
}

const encodeF16 = (values: Float32Array): Uint8Array => {
  const halves = new Uint16Array(values.length)
  for (let i = 0; i < values.length; i++) halves[i] = halfBits(values[i] as number)
  return new Uint8Array(halves.buffer)
}

const encodeQ8 = (values: Float32Array): Uint8Array => {
  const blockCount = values.length / Q8_BLOCK_VALUES
  const bytes = new Uint8Array(blockCount * Q8_BLOCK_BYTES)
  const signed = new Int8Array(bytes.buffer)
  for (let block = 0; block < blockCount; block++) {
    const from = block * Q8_BLOCK_VALUES
    const to = block * Q8_BLOCK_BYTES
    let largest = 0
    for (let i = from; i < from + Q8_BLOCK_VALUES; i++) {
      largest = Math.max(largest, Math.abs(values[i] as number))
    }
    const scale = largest / 127
    const bits = halfBits(scale)
    bytes[to] = bits & 0xff
    bytes[to + 1] = bits >>> 8
    const inverse = scale === 0 ? 0 : 1 / scale
    for (let i = 0; i < Q8_BLOCK_VALUES; i++) {
      signed[to + 2 + i] = Math.round((values[from + i] as number) * inverse)
    }
  }
  return bytes
}

/** Decodes stored values; the inverse of `encodeValues`, without F16, in which nothing is trained. */
export const decodeValues = (type: 'F32' | 'Q8_0', bytes: Buffer): Float32Array => {
  if (type === 'F32') return new Float32Array(Uint8Array.from(bytes).buffer)
  const values = new Float32Array((bytes.length / Q8_BLOCK_BYTES) * Q8_BLOCK_VALUES)
  for (let i = 0; i < values.length; i++) {
    const from = Math.floor(i / Q8_BLOCK_VALUES) * Q8_BLOCK_BYTES
    const scale = halfValue(bytes.readUInt16LE(from))
    values[i] = scale * bytes.readInt8(from + 2 + (i % Q8_BLOCK_VALUES))
  }
  return values
}

/** Number whose IEEE 754 half precision has these bits. */
const halfValue = (bits: number): number => {
  const exponent = (bits >>> 10) & 0x1f
  const fraction = (bits & 0x3ff) / 1024
  const size = exponent === 0 ? fraction * 2 ** -14 : (1 + fraction) * 2 ** (exponent - 15)
  return bits >>> 15 === 1 ? -size : size
}

const oneFloat = new Float32Array(1)
const oneFloatBits = new Uint32Array(oneFloat.buffer)

/** IEEE 754 half precision, rounded to nearest; too large becomes infinity. */
export const halfBits = (value: number): number => {
  oneFloat[0] = value
  const bits = oneFloatBits[0] as number
  const sign = (bits >>> 16) & 0x8000
  const exponent = ((bits >>> 23) & 0xff) - 112
  const mantissa = bits & 0x7fffff
  if (exponent >= 31) return sign | 0x7c00
  if (exponent <= 0) return sign | subnormalHalf(exponent, mantissa)
  const roundUp = (mantissa >>> 12) & 1
  return sign | (((exponent << 10) | (mantissa >>> 13)) + roundUp)
}

const subnormalHalf = (exponent: number, mantissa: number): number => {
  if (exponent < -10) return 0
  const shift = 14 - exponent
  const whole = mantissa | 0x800000
  return (whole >>> shift) + ((whole >>> (shift - 1)) & 1)
}
