import { type Answer, encode } from 'dns-packet'
import { listLabels } from './names.ts'

/** Numbers of record types (RFC 1035, 3.2.2; RFC 3596; RFC 2782; RFC 1035, 3.2.3). */
const TYPES = { A: 1, PTR: 12, TXT: 16, AAAA: 28, SRV: 33, ANY: 255 } as const

export interface MdnsQuestion {
  name: string
  type: keyof typeof TYPES
}

const CLASS_IN = 1
const HEADER_BYTES = 12

/**
 * Bytes of a query. The first label of an instance may hold dots, which the codec would split, so
 * questions are written here; `known` are answers that responders need not repeat (RFC 6762, 7.1).
 */
export const writeQuery = (
  questions: readonly MdnsQuestion[],
  known: readonly Answer[] = [],
  authorities: readonly Answer[] = [],
): Buffer => {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt16BE(questions.length, 4)
  header.writeUInt16BE(known.length, 6)
  header.writeUInt16BE(authorities.length, 8)
  const records = encode({ answers: [...known, ...authorities] }).subarray(HEADER_BYTES)
  return Buffer.concat([header, ...questions.map(writeQuestion), records])
}

const writeQuestion = ({ name, type }: MdnsQuestion): Buffer => {
  const end = Buffer.alloc(5)
  end.writeUInt16BE(TYPES[type], 1)
  end.writeUInt16BE(CLASS_IN, 3)
  return Buffer.concat([...listLabels(name).map(writeLabel), end])
}

/** A label has at most 63 bytes (RFC 1035, 2.3.4). */
const writeLabel = (label: string): Buffer => {
  const bytes = Buffer.from(label).subarray(0, 63)
  return Buffer.concat([Buffer.of(bytes.length), bytes])
}
