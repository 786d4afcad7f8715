import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

/** AttachedLinks that this machine is attached to, and its own addresses on them. */
export interface AttachedLinks {
  isOwn(address: string): boolean
  /** True for an IPv4 address on the link of an interface: it answers ARP if it is there. */
  isOnLink(address: string): boolean
}

export const readAttachedLinks = (): AttachedLinks => {
  const all = Object.values(networkInterfaces()).flatMap(each => each ?? [])
  const own = new Set(all.map(({ address }) => address))
  const links = all
    .filter(({ family, internal, cidr }) => family === 'IPv4' && !internal && cidr !== null)
    .map(({ cidr }) => ipaddr.IPv4.parseCIDR(cidr as string))
  return {
    isOwn: address => own.has(address),
    isOnLink: address =>
      ipaddr.IPv4.isValidFourPartDecimal(address) &&
      links.some(link => ipaddr.IPv4.parse(address).match(link)),
  }
}
