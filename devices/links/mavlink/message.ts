import {
  countBytes,
  type FieldType,
  type FieldValue,
  readField,
  writeField,
} from './field-types.ts'

type Fields = Readonly<Record<string, FieldType>>

/** Values of a message by the names of its fields. */
export type MessageValues<F extends Fields = Fields> = {
  -readonly [K in keyof F]: FieldValue<F[K]>
}

/** Definition of a message. */
export interface Message<F extends Fields = Fields> {
  /** Message id, 24 bits. */
  id: number
  name: string
  /** Checksum of the definition, which both sides add to the checksum of a frame. */
  crcExtra: number
  /** Fields in the order of the wire: by size, larger first, then as in the definition. */
  fields: F
  /** Number of fields at the end that MAVLink 1 does not carry. */
  extensions: number
}

export const defineMessage = <const F extends Fields>(
  id: number,
  name: string,
  crcExtra: number,
  fields: F,
  extensions = 0,
): Message<F> => ({ id, name, crcExtra, fields, extensions })

/** Bytes of a payload; those without the extensions for MAVLink 1. */
export const countPayloadBytes = ({ fields, extensions }: Message, version: 1 | 2): number => {
  const types = Object.values(fields)
  const count = version === 1 ? types.length - extensions : types.length
  return types.slice(0, count).reduce((sum, type) => sum + countBytes(type), 0)
}

/**
 * Decodes a payload. MAVLink 2 drops zeros at its end, and a newer sender may add fields: what is
 * missing reads as zero, what is beyond the definition is ignored.
 */
export const decodePayload = <F extends Fields>(
  message: Message<F>,
  payload: Uint8Array,
): MessageValues<F> => {
  const bytes = new Uint8Array(countPayloadBytes(message, 2))
  bytes.set(payload.subarray(0, bytes.length))
  const view = new DataView(bytes.buffer)
  const values: Record<string, unknown> = {}
  let at = 0
  for (const [name, type] of Object.entries(message.fields)) {
    values[name] = readField(view, at, type)
    at += countBytes(type)
  }
  return values as MessageValues<F>
}

/** Encodes a payload; absent fields are zero. */
export const encodePayload = <F extends Fields>(
  message: Message<F>,
  values: Partial<MessageValues<F>>,
  version: 1 | 2,
): Uint8Array => {
  const bytes = new Uint8Array(countPayloadBytes(message, 2))
  const view = new DataView(bytes.buffer)
  let at = 0
  for (const [name, type] of Object.entries(message.fields)) {
    const value = values[name]
    if (value !== undefined) writeField(view, at, type, value)
    at += countBytes(type)
  }
  return bytes.subarray(0, countPayloadBytes(message, version))
}
