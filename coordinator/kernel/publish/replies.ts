import type { Answer } from 'dns-packet'
import { foldName, META_NAME } from '../../../shared/mdns/names.ts'
import type { MdnsPacket } from '../../../shared/mdns/packet.ts'
import { type ServiceRecords, SHOAL_TYPE } from './service-records.ts'

/** Records that answer the questions of a packet, without those that the requester knows. */
export const listAnswers = (
  { questions, answers: known }: Pick<MdnsPacket, 'questions' | 'answers'>,
  own: ServiceRecords,
): Answer[] => {
  const found = questions.flatMap(({ name, type }) =>
    recordsFor(foldName(name), own).filter(each => type === 'ANY' || each.type === type),
  )
  return [...new Set(found)].filter(each => !isKnown(each, known))
}

const recordsFor = (name: string, own: ServiceRecords): readonly Answer[] => {
  if (name === META_NAME || name === SHOAL_TYPE)
    return own.pointers.filter(pointer => pointer.name === name)
  if (name === foldName(own.instance)) return [own.service, own.attributes]
  return name === foldName(own.host) ? own.addresses : []
}

/** Known-answer suppression, with at least half of the lifetime left (RFC 6762, 7.1). */
const isKnown = (answer: Answer, known: MdnsPacket['answers']): boolean =>
  answer.type === 'PTR' &&
  known.some(
    each =>
      each.type === 'PTR' &&
      foldName(each.name) === foldName(answer.name) &&
      foldName(each.target) === foldName(answer.data) &&
      each.ttl_s * 2 >= (answer.ttl ?? 0),
  )
