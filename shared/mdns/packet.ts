import { type DecodedPacket, decode, type Question } from 'dns-packet'

/** Largest packet of multicast DNS (RFC 6762, 17). */
const MAX_PACKET_BYTES = 9000

/** Most entries of a packet that is read: one of 9000 bytes has no room for more real records. */
const MAX_ENTRIES = 600

interface RecordBase {
  /** Name as the responder wrote it; names compare without case. */
  name: string
  ttl_s: number
  /** The record replaces all others of its name and type (RFC 6762, 10.2). */
  isFlush: boolean
}

export type MdnsRecord =
  | (RecordBase & { type: 'PTR'; target: string })
  | (RecordBase & { type: 'SRV'; target: string; port: number })
  | (RecordBase & { type: 'TXT'; strings: readonly Buffer[] })
  | (RecordBase & { type: 'A' | 'AAAA'; address: string })
  /** Denies records of all other types under its name (RFC 6762, 6.1). */
  | (RecordBase & { type: 'NSEC'; existing: readonly string[] })

export interface MdnsPacket {
  isResponse: boolean
  id: number
  questions: readonly { name: string; type: string }[]
  /** Records of the answer section; in a query, the answers that the sender already knows. */
  answers: readonly MdnsRecord[]
  /** Records that a prober wants to own (RFC 6762, 8.2). */
  authorities: readonly MdnsRecord[]
  additionals: readonly MdnsRecord[]
}

/**
 * Reads a packet of any origin; undefined for one that is malformed or too large. Compression
 * pointers only lead backwards (RFC 1035, 4.1.4), so reading always ends.
 */
export const readPacket = (bytes: Buffer): MdnsPacket | undefined => {
  if (bytes.length < 12 || bytes.length > MAX_PACKET_BYTES) return undefined
  if (countEntries(bytes) > MAX_ENTRIES) return undefined
  try {
    return convertPacket(decode(bytes))
  } catch {
    return undefined
  }
}

/** Sum of the four counters of the header (RFC 1035, 4.1.1). */
const countEntries = (bytes: Buffer): number =>
  [4, 6, 8, 10].reduce((sum, offset) => sum + bytes.readUInt16BE(offset), 0)

const convertPacket = (packet: DecodedPacket): MdnsPacket => ({
  isResponse: packet.type === 'response',
  id: packet.id ?? 0,
  questions: (packet.questions ?? []).map(({ name, type }: Question) => ({ name, type })),
  answers: (packet.answers ?? []).flatMap(convertRecord),
  authorities: (packet.authorities ?? []).flatMap(convertRecord),
  additionals: (packet.additionals ?? []).flatMap(convertRecord),
})

type Answer = NonNullable<DecodedPacket['answers']>[number]

/** Other types of records say nothing about services and are left out. */
const convertRecord = (answer: Answer): MdnsRecord[] => {
  if (answer.type === 'OPT') return []
  const base = {
    name: answer.name,
    ttl_s: answer.ttl ?? 0,
    isFlush: 'flush' in answer && answer.flush === true,
  }
  switch (answer.type) {
    case 'PTR':
      return [{ ...base, type: answer.type, target: answer.data }]
    case 'SRV':
      return [{ ...base, type: answer.type, target: answer.data.target, port: answer.data.port }]
    case 'TXT':
      return [{ ...base, type: answer.type, strings: [answer.data].flat().map(toBuffer) }]
    case 'A':
    case 'AAAA':
      return [{ ...base, type: answer.type, address: answer.data }]
    case 'NSEC':
      return [{ ...base, type: answer.type, existing: answer.data.rrtypes }]
    default:
      return []
  }
}

const toBuffer = (text: string | Buffer): Buffer => Buffer.from(text as string)
