import type ipaddr from 'ipaddr.js'

/** Names of ranges in ipaddr.js that are for use inside of networks. */
const PRIVATE = ['private', 'uniqueLocal', 'linkLocal', 'loopback', 'carrierGradeNat']

/** Part of the address space: of the internet, of networks and hosts themselves, or neither. */
export const classifyAddress = (
  address: ipaddr.IPv4 | ipaddr.IPv6,
): 'global' | 'private' | 'reserved' => {
  const range = address.range()
  if (range === 'unicast') return 'global'
  return PRIVATE.includes(range) ? 'private' : 'reserved'
}
