import { calculateCrc } from './crc.ts'
import { countPayloadBytes, encodePayload, type Message, type MessageValues } from './message.ts'
import { MESSAGES } from './messages.ts'

/** One frame of a datagram (MAVLink guide, "Packet Serialization"). */
export interface Frame {
  version: 1 | 2
  /** Counts the frames of one component, 0 to 255. */
  sequence: number
  systemId: number
  componentId: number
  messageId: number
  payload: Uint8Array
  /** Undefined for a message without a definition here: its checksum cannot be verified. */
  message: Message | undefined
}

const MARKERS = { 254: 1, 253: 2 } as const
const HEADER_BYTES = { 1: 6, 2: 10 } as const
const CRC_BYTES = 2
const SIGNATURE_BYTES = 13
/** Incompatibility flag of a signed frame; a frame with any other flag must be discarded. */
const SIGNED = 0x01

/** Finds the frames of a datagram; frames never span datagrams. Resumes behind damaged bytes. */
export const parseFrames = (datagram: Uint8Array): Frame[] => {
  const frames: Frame[] = []
  for (let at = 0; at < datagram.length; ) {
    const found = parseFrame(datagram.subarray(at))
    if (found !== undefined) frames.push(found.frame)
    at += found?.bytes ?? 1
  }
  return frames
}

interface FoundFrame {
  frame: Frame
  /** Bytes from the marker to the end, with the signature. */
  bytes: number
}

/** The frame at the start of the bytes; undefined when there is no whole and valid one. */
const parseFrame = (bytes: Uint8Array): FoundFrame | undefined => {
  const version = MARKERS[bytes[0] as keyof typeof MARKERS]
  if (version === undefined) return undefined
  const payloadAt = HEADER_BYTES[version]
  const [, length = 0, flags = 0] = bytes
  const isSigned = version === 2 && flags === SIGNED
  if (version === 2 && flags !== 0 && !isSigned) return undefined
  const total = payloadAt + length + CRC_BYTES + (isSigned ? SIGNATURE_BYTES : 0)
  if (bytes.length < total) return undefined
  const frame = readHeader(bytes, version, bytes.subarray(payloadAt, payloadAt + length))
  return isIntact(bytes.subarray(1, payloadAt + length + CRC_BYTES), frame)
    ? { frame, bytes: total }
    : undefined
}

const readHeader = (bytes: Uint8Array, version: 1 | 2, payload: Uint8Array): Frame => {
  const [, , , , sequence = 0, systemId = 0, componentId = 0, low = 0, middle = 0, high = 0] =
    version === 2 ? bytes : [0, 0, 0, 0, ...bytes.subarray(2, HEADER_BYTES[1])]
  const messageId = version === 2 ? low | (middle << 8) | (high << 16) : low
  const message = MESSAGES.get(messageId)
  return { version, sequence, systemId, componentId, messageId, payload, message }
}

/**
 * True when checksum and length fit, and for a message that cannot be verified. Some senders of
 * MAVLink 1 append the extensions.
 */
const isIntact = (bytes: Uint8Array, { message, version, payload }: Frame): boolean => {
  if (message === undefined) return true
  if (version === 1 && payload.length < countPayloadBytes(message, 1)) return false
  const end = bytes.length - CRC_BYTES
  const crc = calculateCrc(Uint8Array.of(message.crcExtra), calculateCrc(bytes.subarray(0, end)))
  return bytes[end] === (crc & 0xff) && bytes[end + 1] === crc >> 8
}

interface FrameHead {
  sequence: number
  systemId: number
  componentId: number
  version: 1 | 2
}

/** Encodes a frame. The payload of MAVLink 2 has no zeros at its end, except for its first byte. */
export const encodeFrame = <M extends Message>(
  message: M,
  values: Partial<MessageValues<M['fields']>>,
  { sequence, systemId, componentId, version }: FrameHead,
): Buffer => {
  const whole = encodePayload(message, values, version)
  const payload = version === 2 ? trimZeros(whole) : whole
  const { id } = message
  const rest = [sequence & 0xff, systemId, componentId]
  const head =
    version === 2
      ? [payload.length, 0, 0, ...rest, id & 0xff, (id >> 8) & 0xff, id >> 16]
      : [payload.length, ...rest, id]
  const body = Buffer.concat([Buffer.from(head), payload])
  const crc = calculateCrc(Uint8Array.of(message.crcExtra), calculateCrc(body))
  const marker = version === 2 ? 0xfd : 0xfe
  return Buffer.concat([Buffer.of(marker), body, Buffer.of(crc & 0xff, crc >> 8)])
}

const trimZeros = (bytes: Uint8Array): Uint8Array => {
  const last = bytes.findLastIndex(byte => byte !== 0)
  return bytes.subarray(0, Math.max(1, last + 1))
}
