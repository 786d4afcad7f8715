/** A typed GGUF metadata value. Type numbers: GGUF specification, `gguf_metadata_value_type`. */
type MetadataValue =
  | { type: 'u32' | 'i32' | 'f32'; value: number }
  | { type: 'bool'; value: boolean }
  | { type: 'string'; value: string }
  | { type: 'array'; of: 'i32'; value: readonly number[] }
  | { type: 'array'; of: 'string'; value: readonly string[] }

export type Metadata = Record<string, MetadataValue>

export const u32 = (value: number): MetadataValue => ({ type: 'u32', value })
export const f32 = (value: number): MetadataValue => ({ type: 'f32', value })
export const bool = (value: boolean): MetadataValue => ({ type: 'bool', value })
export const text = (value: string): MetadataValue => ({ type: 'string', value })
export const i32s = (value: readonly number[]): MetadataValue => ({
  type: 'array',
  of: 'i32',
  value,
})
export const texts = (value: readonly string[]): MetadataValue => ({
  type: 'array',
  of: 'string',
  value,
})

export const TYPE_NUMBERS = {
  u32: 4,
  i32: 5,
  f32: 6,
  bool: 7,
  string: 8,
  array: 9,
} as const

export const encodeMetadata = (metadata: Metadata): Buffer =>
  Buffer.concat(
    Object.entries(metadata).flatMap(([key, value]) => [
      encodeString(key),
      encodeU32(TYPE_NUMBERS[value.type]),
      encodeValue(value),
    ]),
  )

/** Strings carry their length in bytes as u64, then UTF-8. */
export const encodeString = (value: string): Buffer => {
  const bytes = Buffer.from(value, 'utf8')
  return Buffer.concat([encodeU64(bytes.length), bytes])
}

export const encodeU32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

export const encodeU64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

const encodeValue = (value: MetadataValue): Buffer => {
  switch (value.type) {
    case 'u32':
      return encodeU32(value.value)
    case 'i32':
      return encodeI32(value.value)
    case 'f32':
      return encodeF32(value.value)
    case 'bool':
      return Buffer.from([value.value ? 1 : 0])
    case 'string':
      return encodeString(value.value)
    case 'array':
      return Buffer.concat([
        encodeU32(TYPE_NUMBERS[value.of]),
        encodeU64(value.value.length),
        ...(value.of === 'i32' ? value.value.map(encodeI32) : value.value.map(encodeString)),
      ])
  }
}

const encodeI32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32LE(value)
  return bytes
}

const encodeF32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatLE(value)
  return bytes
}
