import { type Answer, encode } from 'dns-packet'
import { foldName } from '../../../shared/mdns/names.ts'
import type { MdnsRecord } from '../../../shared/mdns/packet.ts'
import type { ServiceRecords } from './service-records.ts'

/** True for a record of another host under a name that belongs to us alone (RFC 6762, 9). */
export const isConflict = (record: MdnsRecord, own: ServiceRecords): boolean => {
  const name = foldName(record.name)
  if (record.ttl_s === 0) return false
  if (record.type === 'SRV') {
    const service = own.service as Answer & { data: { target: string; port: number } }
    return (
      name === foldName(own.instance) &&
      (foldName(record.target) !== foldName(own.host) || record.port !== service.data.port)
    )
  }
  if (record.type !== 'A' && record.type !== 'AAAA') return false
  const ours = own.addresses.filter(({ type }) => type === record.type)
  return (
    name === foldName(own.host) &&
    !ours.some(each => 'data' in each && each.data === record.address)
  )
}

/** True when a simultaneous probe of another host has the greater data and wins (RFC 6762, 8.2). */
export const hasLost = (rivals: readonly MdnsRecord[], own: ServiceRecords): boolean => {
  const service = own.service as Answer & { data: { target: string; port: number } }
  const ours = encodeService(service.data)
  return rivals.some(
    record =>
      record.type === 'SRV' &&
      foldName(record.name) === foldName(own.instance) &&
      Buffer.compare(encodeService(record), ours) > 0,
  )
}

/** Bytes by which records are compared: the data as it is sent, without compression. */
const encodeService = ({ target, port }: { target: string; port: number }): Buffer => {
  const data = { target: foldName(target), port, priority: 0, weight: 0 }
  return encode({ type: 'response', answers: [{ type: 'SRV', name: '.', ttl: 0, data }] })
}
