import type { Link } from '../../../../shared/mdns/links.ts'
import { foldName } from '../../../../shared/mdns/names.ts'
import type { MdnsRecord } from '../../../../shared/mdns/packet.ts'

/** A record with its lifetime. Times are milliseconds of a monotonic clock. */
export interface CachedRecord {
  record: MdnsRecord
  link: Link
  receivedAt: number
  expiresAt: number
  /** The responder withdrew it; it stays for one second (RFC 6762, 10.1). */
  isWithdrawn: boolean
  /** Share of the lifetime, percent, after which it is asked for again (RFC 6762, 5.2). */
  renewAtPercent: number
}

const MAX_RECORDS = 4096
/** Longest lifetime that is believed: one day. */
const MAX_TTL_S = 86_400
const GRACE_MS = 1000
const MAX_TXT_BYTES = 2048

/** Shares of the lifetime at which a record is renewed, percent (RFC 6762, 5.2). */
const RENEW_PERCENTS = [80, 85, 90, 95] as const

/** Records heard on some links, bounded in number; the newest are refused when it is full. */
export class RecordCache {
  readonly #records = new Map<string, CachedRecord>()
  /** Keys by link, type and name, for look-ups and flushes. */
  readonly #byName = new Map<string, Set<string>>()
  /** True once a record found no room. */
  isFull = false

  /** Adds or refreshes a record; lifetime 0 withdraws it. */
  put(link: Link, record: MdnsRecord, now: number): void {
    const key = keyOf(link, record)
    const known = this.#records.get(key)
    if (known === undefined && this.#records.size >= MAX_RECORDS) {
      this.isFull = true
      return
    }
    const name = nameKey(link, record.type, record.name)
    if (record.isFlush) this.#flush(name, key, now)
    this.#records.set(key, createEntry(link, record, now))
    this.#byName.set(name, (this.#byName.get(name) ?? new Set()).add(key))
  }

  find<T extends MdnsRecord['type']>(
    link: Link,
    type: T,
    name: string,
  ): (CachedRecord & { record: Extract<MdnsRecord, { type: T }> })[] {
    const keys = this.#byName.get(nameKey(link, type, name)) ?? []
    return [...keys].map(key => this.#records.get(key) as never)
  }

  all(): IterableIterator<CachedRecord> {
    return this.#records.values()
  }

  /** Records past their lifetime, which the caller removes after it has read what belongs to them. */
  listExpired(now: number): CachedRecord[] {
    return [...this.#records.values()].filter(({ expiresAt }) => expiresAt <= now)
  }

  remove({ link, record }: CachedRecord): void {
    const key = keyOf(link, record)
    const name = nameKey(link, record.type, record.name)
    this.#records.delete(key)
    const keys = this.#byName.get(name)
    keys?.delete(key)
    if (keys?.size === 0) this.#byName.delete(name)
  }

  /** Records that should be asked for again now; each is due at most four times. */
  takeDue(now: number): CachedRecord[] {
    const due = [...this.#records.values()].filter(each => isDue(each, now))
    for (const each of due)
      each.renewAtPercent =
        RENEW_PERCENTS.find(percent => percent > each.renewAtPercent) ?? Number.POSITIVE_INFINITY
    return due
  }

  /** Other records of the name that are older than a second end soon (RFC 6762, 10.2). */
  #flush(name: string, kept: string, now: number): void {
    for (const key of this.#byName.get(name) ?? []) {
      const known = this.#records.get(key)
      if (key === kept || known === undefined || now - known.receivedAt <= GRACE_MS) continue
      known.expiresAt = Math.min(known.expiresAt, now + GRACE_MS)
    }
  }
}

const createEntry = (link: Link, record: MdnsRecord, now: number): CachedRecord => {
  const isWithdrawn = record.ttl_s === 0
  const lifetime = isWithdrawn ? GRACE_MS : Math.min(record.ttl_s, MAX_TTL_S) * 1000
  return {
    record: record.type === 'TXT' ? truncateTxt(record) : record,
    link,
    receivedAt: now,
    expiresAt: now + lifetime,
    isWithdrawn,
    renewAtPercent: RENEW_PERCENTS[0],
  }
}

const isDue = (each: CachedRecord, now: number): boolean => {
  const lifetime = each.expiresAt - each.receivedAt
  return !each.isWithdrawn && now >= each.receivedAt + (lifetime * each.renewAtPercent) / 100
}

/** Keeps the first strings of a TXT record: real ones have a few hundred bytes. */
const truncateTxt = (record: Extract<MdnsRecord, { type: 'TXT' }>): MdnsRecord => {
  const strings: Buffer[] = []
  let bytes = 0
  for (const each of record.strings) {
    bytes += each.length
    if (bytes > MAX_TXT_BYTES) break
    strings.push(each)
  }
  return { ...record, strings }
}

const nameKey = (link: Link, type: string, name: string): string =>
  `${link.name}\n${type}\n${foldName(name)}`

/** Two records are one when name, type and data agree; a name has one SRV and one TXT record. */
const keyOf = (link: Link, record: MdnsRecord): string =>
  `${nameKey(link, record.type, record.name)}\n${dataOf(record)}`

const dataOf = (record: MdnsRecord): string => {
  if (record.type === 'PTR') return foldName(record.target)
  return record.type === 'A' || record.type === 'AAAA' ? record.address : ''
}
