import ipaddr from 'ipaddr.js'
import type { Link } from '../../shared/mdns/links.ts'
import type { ScanScope } from '../../shared/wire/scan-scope.ts'
import { findEntryFault, isInScope, parseNetwork } from '../scope.ts'

/** True when one entry of the scope covers the subnet of the link. */
export const isLinkInScope = (
  scope: ScanScope,
  { address, cidr }: Pick<Link, 'address' | 'cidr'>,
): boolean => {
  const [own, bits] = ipaddr.IPv4.parseCIDR(cidr)
  return (
    isInScope(scope, address) &&
    scope.entries.some(entry => {
      const network = findEntryFault(entry) === undefined ? parseNetwork(entry.target) : undefined
      return network?.[0].kind() === 'ipv4' && network[1] <= bits && own.match(network)
    })
  )
}
