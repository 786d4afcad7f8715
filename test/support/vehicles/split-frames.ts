/** A frame of MAVLink 2 as it arrived. */
export interface ReceivedFrame {
  system: number
  id: number
  payload: Buffer
}

/** Frames of MAVLink 2 in a datagram; the checksums are those of the loopback. */
export function* splitFrames(bytes: Buffer): Generator<ReceivedFrame> {
  let start = 0
  while (start + 12 <= bytes.length && bytes[start] === 0xfd) {
    const length = bytes[start + 1] ?? 0
    const isSigned = ((bytes[start + 2] ?? 0) & 1) !== 0
    // the wire omits zeros at the end of a payload
    const payload = Buffer.alloc(255)
    bytes.copy(payload, 0, start + 10, start + 10 + length)
    yield { system: bytes[start + 5] ?? 0, id: bytes.readUIntLE(start + 7, 3), payload }
    start += 12 + length + (isSigned ? 13 : 0)
  }
}
