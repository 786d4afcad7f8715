type Scalar =
  | 'uint8_t'
  | 'int8_t'
  | 'uint16_t'
  | 'int16_t'
  | 'uint32_t'
  | 'int32_t'
  | 'uint64_t'
  | 'float'

/** Type of a field, as the message definitions have it: `uint16_t`, `uint16_t[10]`, `char[50]`. */
export type FieldType = Scalar | `${Scalar}[${number}]` | `char[${number}]`

export type FieldValue<T extends FieldType> = T extends Scalar
  ? number
  : T extends `char[${number}]`
    ? string
    : number[]

interface Codec {
  bytes: number
  read(from: DataView, at: number): number
  write(to: DataView, at: number, value: number): void
}

const LITTLE = true

/** Codecs of the scalars; MAVLink is little-endian. */
const SCALARS: Record<Scalar, Codec> = {
  uint8_t: {
    bytes: 1,
    read: (from, at) => from.getUint8(at),
    write: (to, at, value) => to.setUint8(at, value),
  },
  int8_t: {
    bytes: 1,
    read: (from, at) => from.getInt8(at),
    write: (to, at, value) => to.setInt8(at, value),
  },
  uint16_t: {
    bytes: 2,
    read: (from, at) => from.getUint16(at, LITTLE),
    write: (to, at, value) => to.setUint16(at, value, LITTLE),
  },
  int16_t: {
    bytes: 2,
    read: (from, at) => from.getInt16(at, LITTLE),
    write: (to, at, value) => to.setInt16(at, value, LITTLE),
  },
  uint32_t: {
    bytes: 4,
    read: (from, at) => from.getUint32(at, LITTLE),
    write: (to, at, value) => to.setUint32(at, value, LITTLE),
  },
  int32_t: {
    bytes: 4,
    read: (from, at) => from.getInt32(at, LITTLE),
    write: (to, at, value) => to.setInt32(at, value, LITTLE),
  },
  // microseconds in the messages here: exact up to 285 years
  uint64_t: {
    bytes: 8,
    read: (from, at) => Number(from.getBigUint64(at, LITTLE)),
    write: (to, at, value) => to.setBigUint64(at, BigInt(value), LITTLE),
  },
  float: {
    bytes: 4,
    read: (from, at) => from.getFloat32(at, LITTLE),
    write: (to, at, value) => to.setFloat32(at, value, LITTLE),
  },
}

/** Splits `uint16_t[10]` into its element type and its length; undefined for a scalar. */
const parseArray = (type: FieldType): { element: string; length: number } | undefined => {
  const [element = '', length] = type.split(/[[\]]/)
  return length === undefined ? undefined : { element, length: Number(length) }
}

export const countBytes = (type: FieldType): number => {
  const array = parseArray(type)
  if (array === undefined) return SCALARS[type as Scalar].bytes
  return array.length * (array.element === 'char' ? 1 : SCALARS[array.element as Scalar].bytes)
}

export const readField = (
  from: DataView,
  at: number,
  type: FieldType,
): number | string | number[] => {
  const array = parseArray(type)
  if (array === undefined) return SCALARS[type as Scalar].read(from, at)
  const { element, length } = array
  if (element === 'char') return readText(from, at, length)
  const { bytes, read } = SCALARS[element as Scalar]
  return Array.from({ length }, (_, index) => read(from, at + index * bytes))
}

/** Text ends at the first NUL, or fills the whole field. */
const readText = (from: DataView, at: number, length: number): string => {
  const bytes = Buffer.from(from.buffer, from.byteOffset + at, length)
  const end = bytes.indexOf(0)
  return bytes.toString('latin1', 0, end === -1 ? length : end)
}

export const writeField = (
  to: DataView,
  at: number,
  type: FieldType,
  value: number | string | readonly number[],
): void => {
  const array = parseArray(type)
  if (array === undefined) SCALARS[type as Scalar].write(to, at, value as number)
  else if (array.element === 'char')
    Buffer.from(to.buffer, to.byteOffset + at, array.length).write(value as string, 'latin1')
  else writeNumbers(to, at, SCALARS[array.element as Scalar], value as readonly number[])
}

const writeNumbers = (to: DataView, at: number, codec: Codec, values: readonly number[]): void => {
  for (const [index, value] of values.entries()) codec.write(to, at + index * codec.bytes, value)
}
