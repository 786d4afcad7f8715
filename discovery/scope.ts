import ipaddr from 'ipaddr.js'
import { ShoalError } from '../shared/errors.ts'
import { isMetadataAddress } from '../shared/metadata-address.ts'
import { MAX_SCOPE_ADDRESSES, type ScanScope, type ScopeEntry } from '../shared/wire/scan-scope.ts'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Network = [Address, number]

/**
 * True when active probes may contact the address: loopback, and what an operator added. Addresses
 * of cloud metadata, of container bridges, and of no single host never are.
 */
export const isInScope = (scope: ScanScope, address: string): boolean => {
  const parsed = parseAddress(address)
  if (parsed === undefined || isNeverTarget(parsed)) return false
  if (parsed.range() === 'loopback') return true
  if (isExcluded(scope, parsed)) return false
  return scope.entries.some(entry => holdsAddress(entry, parsed))
}

/** True when an operator added the name; `resolve-target.ts` then allows what it resolves to. */
export const isNameInScope = (scope: ScanScope, name: string): boolean =>
  scope.entries.some(({ target }) => normaliseTarget(target) === normaliseTarget(name))

/** @throws ShoalError scope_denied, which says how to add the target */
export const requireInScope = (scope: ScanScope, address: string): void => {
  if (isInScope(scope, address)) return
  if (isForbiddenAddress(scope, address)) throw createForbiddenError(address)
  throw createOutOfScopeError(normaliseTarget(address))
}

export const createOutOfScopeError = (target: string): ShoalError =>
  new ShoalError(
    'scope_denied',
    `${target} is outside the scope of discovery; an operator may add it: shoal discover scope add ${target}`,
    { reason: 'discovery_scope', next: `shoal discover scope add ${target}` },
  )

export const createForbiddenError = (target: string): ShoalError =>
  new ShoalError(
    'scope_denied',
    `discovery never contacts ${target}: it belongs to a metadata service or a container bridge, or is not a single host`,
    { reason: 'discovery_scope' },
  )

/** True for an address that no entry, also not that of a name, can allow. */
export const isForbiddenAddress = (scope: ScanScope, address: string): boolean => {
  const parsed = parseAddress(address)
  return parsed === undefined || isNeverTarget(parsed) || isExcluded(scope, parsed)
}

/** Network of an entry; undefined for a name. */
export const parseNetwork = (target: string): Network | undefined => {
  const [base = ''] = target.split('/')
  if (!ipaddr.isValid(base) || (isV4(base) && !ipaddr.IPv4.isValidFourPartDecimal(base)))
    return undefined
  const address = ipaddr.parse(base)
  if (!target.includes('/')) return [address, bitsOf(address)]
  return ipaddr.isValidCIDR(target) ? ipaddr.parseCIDR(target) : undefined
}

/**
 * The one spelling of a target that entries have: a network by its first address, IPv4 inside IPv6 as
 * IPv4, a name in lower case without its last dot. Text that is no target is returned as it is.
 */
export const normaliseTarget = (text: string): string => {
  const target = text.trim().toLowerCase().replace(/\.$/, '')
  const network = parseNetwork(target)
  if (network === undefined) return target
  const [first, bits] = unmapNetwork(network)
  if (bits === bitsOf(first)) return first.toString()
  const kind = first.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6
  return `${kind.networkAddressFromCIDR(`${first}/${bits}`)}/${bits}`
}

const unmapNetwork = ([address, bits]: Network): Network =>
  address.kind() === 'ipv6' && (address as ipaddr.IPv6).isIPv4MappedAddress() && bits >= 96
    ? [(address as ipaddr.IPv6).toIPv4Address(), bits - 96]
    : [address, bits]

/** Number of addresses of a network; a large one is not exact. */
const countAddresses = ([address, bits]: Network): number => 2 ** (bitsOf(address) - bits)

/** Prefix of the largest network that an entry may be, also a forced one. */
const LEAST_PREFIX = { ipv4: 8, ipv6: 32 } as const

/** Why an entry is not accepted; undefined for a good one. */
export const findEntryFault = ({ target, is_forced = false }: ScopeEntry): string | undefined => {
  const network = parseNetwork(target)
  if (network === undefined) return isName(target) ? undefined : describeNoTarget(target)
  if (isMetadataAddress(network[0])) return `${target} holds metadata services of clouds`
  if (isOfNoHost(network[0]))
    return `${target} is not the address of a single host: a probe would reach many`
  const [least, count] = [LEAST_PREFIX[network[0].kind()], countAddresses(network)]
  if (network[1] < least)
    return `${target} is larger than a /${least}; add the networks that are yours`
  if (is_forced || count <= MAX_SCOPE_ADDRESSES) return undefined
  return `${target} has more than ${MAX_SCOPE_ADDRESSES} addresses; add it in parts, or force it`
}

/** True for an IPv4 network of public addresses, which somebody else may own. */
export const isPublicNetwork = (target: string): boolean => {
  const network = parseNetwork(target)
  if (network === undefined || countAddresses(network) === 1) return false
  return network[0].kind() === 'ipv4' && network[0].range() === 'unicast'
}

const describeNoTarget = (target: string): string =>
  `${target} is not a network, an address or a name: write 192.168.1.0/24, 192.168.1.5 or printer.lan, without scheme and port`

const NAME = /^[a-z0-9-]+(\.[a-z0-9-]+)*\.?$/
/** Longest label of a name (RFC 1035, 2.3.4). */
const MAX_LABEL_LENGTH = 63

const isName = (target: string): boolean =>
  NAME.test(target) &&
  /[a-z]/.test(target) &&
  target.split('.').every(({ length }) => length <= MAX_LABEL_LENGTH)

/** The address; that of IPv4 for one of IPv4 inside IPv6. A zone (`fe80::1%eth0`) is left out. */
const parseAddress = (text: string): Address | undefined => {
  const [address = ''] = text.split('%')
  if (!ipaddr.isValid(address)) return undefined
  if (isV4(address) && !ipaddr.IPv4.isValidFourPartDecimal(address)) return undefined
  return ipaddr.process(address)
}

/** A datagram to a group reaches every host of the link, with the credentials that it carries. */
const isOfNoHost = (address: Address): boolean =>
  ['multicast', 'broadcast'].includes(address.range())

const isNeverTarget = (address: Address): boolean =>
  isMetadataAddress(address) || isOfNoHost(address)

const isV4 = (text: string): boolean => !text.includes(':')

const bitsOf = (address: Address): number => (address.kind() === 'ipv4' ? 32 : 128)

const isExcluded = ({ excluded = [] }: ScanScope, address: Address): boolean =>
  excluded.some(target => holds(target, address))

/** An entry that would not be accepted holds nothing, wherever it comes from. */
const holdsAddress = (entry: ScopeEntry, address: Address): boolean =>
  findEntryFault(entry) === undefined && holds(entry.target, address)

const holds = (target: string, address: Address): boolean => {
  const network = parseNetwork(target)
  return network !== undefined && network[0].kind() === address.kind() && address.match(network)
}
