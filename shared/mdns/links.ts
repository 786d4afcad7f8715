import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

/** An interface with an IPv4 address, over which multicast DNS is spoken. */
export interface Link {
  /** Name of the interface: `eth0`. */
  name: string
  /** First IPv4 address of the interface, which also selects it for multicast. */
  address: string
  /** Subnet of that address: `192.168.1.5/24`. */
  cidr: string
  isLoopback: boolean
  /** All addresses of the interface, IPv4 and IPv6. */
  addresses: readonly string[]
}

/** Most interfaces that one process joins; Linux allows 20 memberships per socket (igmp(4)). */
const MAX_LINKS = 16

/** Lists the interfaces with an IPv4 address, loopback included. */
export const listLinks = (): Link[] =>
  Object.entries(networkInterfaces())
    .flatMap(([name, found = []]) => {
      const first = found.find(({ family }) => family === 'IPv4')
      if (first?.cidr == null) return []
      const { address, cidr, internal } = first
      return [{ name, address, cidr, isLoopback: internal, addresses: found.map(addressOf) }]
    })
    .slice(0, MAX_LINKS)

const addressOf = ({ address }: { address: string }): string => address

/** The link to which an address belongs; undefined for an address of another network. */
export const findLink = <L extends Link>(links: readonly L[], address: string): L | undefined => {
  if (!ipaddr.IPv4.isValidFourPartDecimal(address)) return undefined
  const parsed = ipaddr.IPv4.parse(address)
  return links.find(({ cidr }) => parsed.match(ipaddr.IPv4.parseCIDR(cidr)))
}
