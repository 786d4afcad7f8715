import ipaddr from 'ipaddr.js'
import { ShoalError } from '../shared/errors.ts'
import { isMetadataAddress } from '../shared/metadata-address.ts'
import type { ScanScope, ScopeEntry } from '../shared/wire/scan-scope.ts'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/**
 * True when active probes may contact the address: loopback, and what an operator added. Addresses
 * of cloud metadata never are.
 */
export const isInScope = (scope: ScanScope, address: string): boolean => {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  if (isMetadataAddress(parsed)) return false
  if (parsed.range() === 'loopback') return true
  return scope.entries.some(entry => holdsAddress(entry, parsed))
}

/** True when an operator added the name; what it resolves to is then allowed too. */
export const isNameInScope = (scope: ScanScope, name: string): boolean =>
  scope.entries.some(({ target }) => target === name.toLowerCase())

/** @throws ShoalError forbidden, which says how to add the target */
export const requireInScope = (scope: ScanScope, address: string): void => {
  if (isInScope(scope, address)) return
  throw new ShoalError(
    'forbidden',
    `${address} is outside the scope of discovery; an operator may add it: shoal discover scope add ${address}`,
  )
}

const holdsAddress = ({ target }: ScopeEntry, address: Address): boolean => {
  const network = parseNetwork(target)
  return network !== undefined && network[0].kind() === address.kind() && address.match(network)
}

/** Network of an entry; undefined for a name. */
export const parseNetwork = (target: string): [Address, number] | undefined => {
  const [base = ''] = target.split('/')
  if (!ipaddr.isValid(base)) return undefined
  const address = ipaddr.parse(base)
  if (!target.includes('/')) return [address, address.kind() === 'ipv4' ? 32 : 128]
  return ipaddr.isValidCIDR(target) ? ipaddr.parseCIDR(target) : undefined
}
