import ipaddr from 'ipaddr.js'

/**
 * Metadata services of clouds, which hand out credentials and configuration: never allowed.
 * 169.254.169.254 is that of most clouds; the others: Azure's wire server, Alibaba Cloud, Oracle
 * Cloud before 2019 and with IPv6, AWS, Google Cloud, Scaleway.
 */
const METADATA = [
  ...['169.254.0.0/16', 'fe80::/10', '168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32'],
  ...['fd00:c1::a9fe:a9fe/128', 'fd00:ec2::/32', 'fd20:ce::254/128', 'fd00:42::42/128'],
].map(range => ipaddr.parseCIDR(range))

/**
 * IPv6 forms that embed an IPv4 address that a gateway may translate to, with the positions of its
 * octets. Compatible (RFC 4291), translated (RFC 7915), NAT64 (RFC 6052; RFC 8215 leaves the length
 * of a local prefix open), 6to4 (RFC 3056).
 */
const CARRIERS = (
  [
    ['::/96', [12, 13, 14, 15]],
    ['::ffff:0:0/96', [12, 13, 14, 15]],
    ['::ffff:0:0:0/96', [12, 13, 14, 15]],
    ['64:ff9b::/96', [12, 13, 14, 15]],
    ['64:ff9b:1::/48', [6, 7, 9, 10]],
    ['64:ff9b:1::/48', [7, 9, 10, 11]],
    ['64:ff9b:1::/48', [9, 10, 11, 12]],
    ['64:ff9b:1::/48', [12, 13, 14, 15]],
    ['2002::/16', [2, 3, 4, 5]],
  ] as const
).map(([range, octets]) => ({ range: ipaddr.IPv6.parseCIDR(range), octets }))

/** An address, and those of IPv4 that may be meant by it. */
const expandAddress = (address: ipaddr.IPv4 | ipaddr.IPv6): (ipaddr.IPv4 | ipaddr.IPv6)[] => {
  if (address.kind() === 'ipv4') return [address]
  const bytes = address.toByteArray()
  const carried = CARRIERS.filter(({ range }) => (address as ipaddr.IPv6).match(range))
  return [address, ...carried.map(({ octets }) => new ipaddr.IPv4(octets.map(n => bytes[n] ?? 0)))]
}

/** True when the address is a cloud metadata address, also when embedded in IPv6. */
export const isMetadataAddress = (address: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
  expandAddress(address).some(each =>
    METADATA.some(range => range[0].kind() === each.kind() && each.match(range)),
  )
