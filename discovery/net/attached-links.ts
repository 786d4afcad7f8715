import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

/** Links that this machine is attached to, and its own addresses on them. */
interface AttachedLinks {
  isOwn(address: string): boolean
  /** True for an address on the link of an interface, whose host answers neighbour resolution. */
  isOnLink(address: string): boolean
}

export const readAttachedLinks = (): AttachedLinks => {
  const all = Object.values(networkInterfaces()).flatMap(each => each ?? [])
  const own = new Set(all.map(({ address }) => address))
  const links = all
    .filter(({ internal, cidr }) => !internal && cidr !== null)
    .map(({ cidr }) => ipaddr.parseCIDR(cidr as string))
    // every link has that network, so it tells nothing
    .filter(([address]) => address.range() !== 'linkLocal' || address.kind() === 'ipv4')
  return {
    isOwn: address => own.has(address),
    isOnLink: address => {
      if (!ipaddr.isValid(address)) return false
      const parsed = ipaddr.parse(address)
      return links.some(
        ([base, bits]) =>
          base.kind() === parsed.kind() && parsed.match([base, bits] as [never, number]),
      )
    },
  }
}
