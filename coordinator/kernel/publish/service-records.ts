import type { Answer } from 'dns-packet'
import { META_NAME } from '../../../shared/mdns/names.ts'

/** Service of the coordinator, as it is announced. */
export interface Announcement {
  /** Name of this coordinator on the network; a label of DNS. */
  nodeId: string
  port: number
  txt: Readonly<Record<string, string>>
}

/** Service name (RFC 6335). */
export const SERVICE_NAME = 'shoal'

export const SHOAL_TYPE = `_${SERVICE_NAME}._tcp.local`

/** Lifetimes (RFC 6762, 10): records with a host name or address, and all others. */
const HOST_TTL_S = 120
const OTHER_TTL_S = 4500

export interface ServiceRecords {
  /** First label of the instance. */
  name: string
  instance: string
  host: string
  port: number
  /** Pointer records, shared with other coordinators. */
  pointers: readonly Answer[]
  service: Answer
  attributes: Answer
  addresses: readonly Answer[]
}

/** Records on one link. The second and later attempts carry a number (RFC 6763, D). */
export const createRecords = (
  { nodeId, port, txt }: Announcement,
  attempt: number,
  addresses: readonly string[],
): ServiceRecords => {
  const name = `${nodeId}${attempt === 1 ? '' : ` (${attempt})`}`
  const instance = `${name}.${SHOAL_TYPE}`
  const host = `${nodeId}${attempt === 1 ? '' : `-${attempt}`}.local`
  const unique = { flush: true, class: 'IN' } as const
  return {
    name,
    instance,
    host,
    port,
    pointers: [
      { type: 'PTR', name: SHOAL_TYPE, ttl: OTHER_TTL_S, data: instance },
      { type: 'PTR', name: META_NAME, ttl: OTHER_TTL_S, data: SHOAL_TYPE },
    ],
    service: {
      ...unique,
      type: 'SRV',
      name: instance,
      ttl: HOST_TTL_S,
      data: { target: host, port, priority: 0, weight: 0 },
    },
    attributes: {
      ...unique,
      type: 'TXT',
      name: instance,
      ttl: OTHER_TTL_S,
      data: Object.entries(txt).map(([key, value]) => `${key}=${value}`),
    },
    addresses: addresses.map(address => ({
      ...unique,
      type: address.includes(':') ? 'AAAA' : 'A',
      name: host,
      ttl: HOST_TTL_S,
      data: address,
    })),
  }
}

/** Every record, for announcements and goodbyes. */
export const listRecords = (records: ServiceRecords): Answer[] => [
  ...records.pointers,
  records.service,
  records.attributes,
  ...records.addresses,
]
