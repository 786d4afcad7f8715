import { crc32 } from 'node:zlib'

/**
 * Records in a segment file: length and CRC-32 of the text as little-endian 32-bit numbers, then
 * the text in UTF-8. The checksum reveals a record that a crash left half written.
 */
const HEADER_BYTES = 8

/** Largest text of a record, bytes: an ack with the largest result; it fits into an MQTT packet. */
export const MAX_RECORD_BYTES = 272 * 1024

export const encodeRecord = (text: string): Buffer => {
  const body = Buffer.from(text)
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt32LE(body.length, 0)
  header.writeUInt32LE(crc32(body), 4)
  return Buffer.concat([header, body])
}

interface DecodedRecords {
  texts: string[]
  /** Length of the complete records; the rest is incomplete, damaged or beyond the limit. */
  bytes: number
}

/** The whole and undamaged records at the beginning, at most `limit` of them. */
export const decodeRecords = (data: Buffer, limit = Number.POSITIVE_INFINITY): DecodedRecords => {
  const texts: string[] = []
  let bytes = 0
  while (texts.length < limit && bytes + HEADER_BYTES <= data.length) {
    const length = data.readUInt32LE(bytes)
    const end = bytes + HEADER_BYTES + length
    if (length > MAX_RECORD_BYTES || end > data.length) break
    const body = data.subarray(bytes + HEADER_BYTES, end)
    if (crc32(body) !== data.readUInt32LE(bytes + 4)) break
    texts.push(body.toString('utf8'))
    bytes = end
  }
  return { texts, bytes }
}
