import type { Answer } from 'dns-packet'
import type { Link } from '../../../../shared/mdns/links.ts'
import { type MdnsQuestion, writeQuery } from '../../../../shared/mdns/query.ts'
import type { RecordCache } from './record-cache.ts'

/** Questions of one packet. */
const QUESTIONS_PER_PACKET = 16
/** Bytes of known answers of one packet, so that it fits into an Ethernet frame. */
const MAX_KNOWN_BYTES = 500

/** Packets for some questions, with the answers that responders need not repeat (RFC 6762, 7.1). */
export const writeQueries = (
  questions: readonly MdnsQuestion[],
  link: Link,
  cache: RecordCache,
  now: number,
): { link: Link; bytes: Buffer }[] => {
  const packets: { link: Link; bytes: Buffer }[] = []
  for (let at = 0; at < questions.length; at += QUESTIONS_PER_PACKET) {
    const some = questions.slice(at, at + QUESTIONS_PER_PACKET)
    const known = some.flatMap(question => listKnown(question, link, cache, now))
    packets.push({ link, bytes: writeQuery(some, fitKnown(known)) })
  }
  return packets
}

/** Pointers with more than half of their lifetime left. */
const listKnown = (
  { name, type }: MdnsQuestion,
  link: Link,
  cache: RecordCache,
  now: number,
): Answer[] => {
  if (type !== 'PTR') return []
  return cache.find(link, 'PTR', name).flatMap(({ record, receivedAt, expiresAt, isWithdrawn }) => {
    const left = expiresAt - now
    if (isWithdrawn || left * 2 < expiresAt - receivedAt) return []
    return [{ type: 'PTR', name, ttl: Math.floor(left / 1000), data: record.target } as const]
  })
}

const fitKnown = (known: readonly Answer[]): Answer[] => {
  let left = MAX_KNOWN_BYTES
  return known.filter(answer => {
    left -= answer.type === 'PTR' ? answer.name.length + answer.data.length + 16 : left
    return left >= 0
  })
}
