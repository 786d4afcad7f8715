import ipaddr from 'ipaddr.js'

/** Fields of a TXT record of Team Cymru: `64500 | 192.0.2.0/24 | DE | ripencc | 2011-04-19`. */
const splitFields = (text: string): string[] => text.split('|').map(field => field.trim())

export interface Origin {
  asns: number[]
  prefix: string
  country: string | null
  registry: string | null
  allocatedOn: string | null
}

const orNull = (text: string | undefined): string | null =>
  text === undefined || text === '' ? null : text

const toDate = (text: string | undefined): string | null =>
  text !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(text) ? text : null

/** Origins of a prefix, the most specific one first; one record may name several systems. */
export const readOrigins = (texts: readonly string[]): Origin[] =>
  texts
    .map(splitFields)
    .flatMap(([asns = '', prefix = '', country, registry, allocated]) => {
      const numbers = asns
        .split(/\s+/)
        .filter(each => /^\d{1,10}$/.test(each))
        .map(Number)
      if (numbers.length === 0 || !ipaddr.isValidCIDR(prefix)) return []
      return {
        asns: numbers,
        prefix,
        country: orNull(country),
        registry: orNull(registry),
        allocatedOn: toDate(allocated),
      }
    })
    .sort((a, b) => bitsOf(b.prefix) - bitsOf(a.prefix))

const bitsOf = (prefix: string): number => Number(prefix.split('/')[1])

/** Name of a system: the last of `64500 | DE | ripencc | 2010-01-05 | EXAMPLE-AS Example Net, DE`. */
export const readSystem = (
  text: string,
): {
  name: string | null
  country: string | null
  registry: string | null
  allocatedOn: string | null
} => {
  const [, country, registry, allocated, ...name] = splitFields(text)
  return {
    name: orNull(name.join('|').slice(0, 256)),
    country: orNull(country),
    registry: orNull(registry),
    allocatedOn: toDate(allocated),
  }
}

/** Name under which the origin of an address is published. */
export const originName = (address: ipaddr.IPv4 | ipaddr.IPv6): string => {
  if (address.kind() === 'ipv4')
    return `${address.toByteArray().reverse().join('.')}.origin.asn.cymru.com`
  return `${reverseNibbles(address)}.origin6.asn.cymru.com`
}

/** Name under which the host name of an address is published (RFC 1035, 3.5; RFC 3596, 2.5). */
export const pointerName = (address: ipaddr.IPv4 | ipaddr.IPv6): string =>
  address.kind() === 'ipv4'
    ? `${address.toByteArray().reverse().join('.')}.in-addr.arpa`
    : `${reverseNibbles(address)}.ip6.arpa`

const reverseNibbles = (address: ipaddr.IPv4 | ipaddr.IPv6): string =>
  [...Buffer.from(address.toByteArray()).toString('hex')].reverse().join('.')
