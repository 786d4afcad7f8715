import type { Link } from '../../../../shared/mdns/links.ts'
import { foldName, type InstanceName } from '../../../../shared/mdns/names.ts'
import type { MdnsRecord } from '../../../../shared/mdns/packet.ts'
import type { MdnsQuestion } from '../../../../shared/mdns/query.ts'
import { readTxt } from '../../../../shared/mdns/txt.ts'
import type { CachedRecord, RecordCache } from './record-cache.ts'

/** A service instance as it was heard on one link. */
export interface FoundService extends InstanceName {
  link: Link
  host: string | null
  port: number | null
  addresses: readonly string[]
  ttl_s: number
  txt: ReadonlyMap<string, string | null>
  isGone: boolean
  /** No other service of the host is left, and the host withdrew its addresses. */
  isHostGone: boolean
}

/** Name of a service on one link. */
export interface ServiceName extends InstanceName {
  link: Link
  /** Full name: `Printer._ipp._tcp.local`. */
  name: string
}

/** A service that was heard of and is not listed yet. */
export interface ServiceEntry extends ServiceName {
  firstSeenAt: number
  /** Time at which host, port, attributes and an address were all known; undefined before. */
  completeAt?: number
}

const MAX_ADDRESSES = 16

/** Builds a service from the records of the cache. */
export const buildService = (cache: RecordCache, entry: ServiceName): FoundService => {
  const { link, name, instance, type } = entry
  const [srv] = cache.find(link, 'SRV', name)
  const [txt] = cache.find(link, 'TXT', name)
  const pointer = findPointer(cache, entry)
  const host = srv?.record.target ?? null
  const isGone = pointer === undefined || pointer.isWithdrawn
  return {
    link,
    instance,
    type,
    host,
    port: srv?.record.port ?? null,
    addresses: host === null ? [] : listAddresses(cache, link, host),
    ttl_s: pointer?.record.ttl_s ?? 0,
    txt: txt === undefined ? new Map() : readTxt(txt.record.strings),
    isGone,
    isHostGone: false,
  }
}

/** Records of a service: its pointer, host, attributes and addresses. */
export const listServiceRecords = (cache: RecordCache, entry: ServiceName): MdnsRecord[] => {
  const { link, name } = entry
  const [srv] = cache.find(link, 'SRV', name)
  const [txt] = cache.find(link, 'TXT', name)
  const addresses =
    srv === undefined
      ? []
      : findAddressRecords(cache, link, srv.record.target).slice(0, MAX_ADDRESSES)
  return [findPointer(cache, entry), srv, txt, ...addresses].flatMap(each => each?.record ?? [])
}

/** The record that announces the instance; undefined after it expired. */
export const findPointer = (
  cache: RecordCache,
  { link, name, type }: ServiceName,
): (CachedRecord & { record: { type: 'PTR' } }) | undefined =>
  cache
    .find(link, 'PTR', `${type}.local`)
    .find(({ record }) => foldName(record.target) === foldName(name))

export const isComplete = (cache: RecordCache, { link, name }: ServiceName): boolean => {
  const [srv] = cache.find(link, 'SRV', name)
  if (srv === undefined) return false
  const { target } = srv.record
  const isKnown = (type: 'TXT' | 'A' | 'AAAA', of: string): boolean =>
    cache.find(link, type, of).length > 0 || isDenied(cache, link, { name: of, type })
  const hasAddress = listAddresses(cache, link, target).length > 0
  return isKnown('TXT', name) && (hasAddress || (isKnown('A', target) && isKnown('AAAA', target)))
}

/** True when the owner of a name has stated that it has no record of the type (RFC 6762, 6.1). */
export const isDenied = (cache: RecordCache, link: Link, { name, type }: MdnsQuestion): boolean =>
  cache
    .find(link, 'NSEC', name)
    .some(({ record, isWithdrawn }) => !isWithdrawn && !record.existing.includes(type))

/** True when every address record that is known of the host was withdrawn or has expired. */
export const hasLeft = (cache: RecordCache, link: Link, host: string, now: number): boolean => {
  const known = findAddressRecords(cache, link, host)
  return (
    known.length > 0 && known.every(({ isWithdrawn, expiresAt }) => isWithdrawn || expiresAt <= now)
  )
}

const listAddresses = (cache: RecordCache, link: Link, host: string): string[] =>
  findAddressRecords(cache, link, host)
    .map(({ record }) => record.address)
    .slice(0, MAX_ADDRESSES)

const findAddressRecords = (cache: RecordCache, link: Link, host: string) =>
  (['A', 'AAAA'] as const).flatMap(type => cache.find<'A' | 'AAAA'>(link, type, host))
