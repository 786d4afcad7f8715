import ipaddr from 'ipaddr.js'
import { ShoalError } from '../../shared/errors.ts'
import { MAX_SCOPE_ADDRESSES, type ScanScope } from '../../shared/wire/scan-scope.ts'
import { resolveTarget } from '../resolve-target.ts'
import { createOutOfScopeError, isInScope, parseNetwork } from '../scope.ts'

type Address = ipaddr.IPv4 | ipaddr.IPv6

interface Network {
  base: Address
  bits: number
  isForced: boolean
}

interface Targets {
  addresses: string[]
  /** The scope with the addresses of its names, which were resolved once. */
  scope: ScanScope
  /** True when the networks have more addresses than one run may scan. */
  isCut: boolean
}

/** Most addresses of one run, also of forced networks: those of a /16. */
const MAX_FORCED_ADDRESSES = 65_536

/** Most addresses that are looked at, also of a huge network that holds forbidden ones alone. */
const MAX_VISITED = 4 * MAX_FORCED_ADDRESSES

const LOOPBACK = ['127.0.0.1', '::1']
const LOOPBACK_NETWORKS = ['127.0.0.0/8', '::1/128']

/**
 * Addresses to scan: a network as far as it is in scope, or without one loopback and everything in
 * scope. Networks that were not forced give at most 1024 addresses together.
 * @throws ShoalError scope_denied when nothing of the network is in scope
 */
export const listTargets = async (
  subnet: string | undefined,
  scope: ScanScope,
  resolve = resolveTarget,
): Promise<Targets> => {
  if (subnet !== undefined) {
    const targets = take(cutToScope(subnet, scope), [], scope)
    if (targets.addresses.length === 0) throw createOutOfScopeError(subnet)
    return targets
  }
  const named = await resolveNames(scope, resolve)
  const networks = named.scope.entries.flatMap(({ target, is_forced = false }) =>
    toNetworks(target, is_forced),
  )
  return take(networks, [...LOOPBACK, ...named.addresses], named.scope)
}

/** Resolves the names of the scope once; those without an address, or with a wrong one, are left out. */
const resolveNames = async (
  scope: ScanScope,
  resolve: typeof resolveTarget,
): Promise<Pick<Targets, 'addresses' | 'scope'>> => {
  const names = scope.entries.map(({ target }) => target).filter(each => !parseNetwork(each))
  const pinned = await Promise.all(names.map(name => resolve(scope, name).catch(() => undefined)))
  const addresses = pinned.flatMap(target => target?.addresses ?? [])
  const entries = [...scope.entries, ...addresses.map(target => ({ target }))]
  return { addresses, scope: { ...scope, entries } }
}

const toNetworks = (target: string, isForced: boolean): Network[] => {
  const network = parseNetwork(target)
  return network === undefined ? [] : [{ base: network[0], bits: network[1], isForced }]
}

/** Parts of a network that the scope holds; of two networks one is inside the other or none. */
const cutToScope = (subnet: string, scope: ScanScope): Network[] => {
  const [asked] = toNetworks(subnet, false)
  if (asked === undefined)
    throw new ShoalError('invalid_request', `${subnet} is not a network: write 192.168.1.0/24`, {
      param: 'subnet',
    })
  const allowed = [
    ...LOOPBACK_NETWORKS.flatMap(target => toNetworks(target, false)),
    ...scope.entries.flatMap(({ target, is_forced = false }) => toNetworks(target, is_forced)),
  ]
  return allowed.filter(each => overlaps(each, asked)).map(each => innerOf(each, asked))
}

const overlaps = (one: Network, other: Network): boolean =>
  one.base.kind() === other.base.kind() &&
  one.base.match([other.base, Math.min(one.bits, other.bits)] as [never, number])

const innerOf = (allowed: Network, asked: Network): Network => ({
  ...(allowed.bits > asked.bits ? allowed : asked),
  isForced: allowed.isForced,
})

const take = (networks: readonly Network[], more: readonly string[], scope: ScanScope): Targets => {
  const addresses = new Set(more)
  let isCut = false
  let unforced = 0
  let visited = 0
  for (const network of networks)
    for (const address of walk(network)) {
      visited++
      if (visited > MAX_VISITED) return { addresses: [...addresses], scope, isCut: true }
      if (addresses.has(address) || !isInScope(scope, address)) continue
      const isFull =
        addresses.size >= MAX_FORCED_ADDRESSES ||
        (!network.isForced && unforced >= MAX_SCOPE_ADDRESSES)
      if (isFull) {
        isCut = true
        break
      }
      if (!network.isForced) unforced++
      addresses.add(address)
    }
  return { addresses: [...addresses], scope, isCut }
}

/** Addresses of hosts in a network; without those of the network and of broadcasts (RFC 919). */
function* walk({ base, bits }: Network): Generator<string> {
  const bytes = base.toByteArray()
  const width = bytes.length * 8
  const hostBits = BigInt(width - bits)
  const first = (toNumber(bytes) >> hostBits) << hostBits
  const end = first + (1n << hostBits)
  const isPlain = width === 128 || hostBits < 2n
  for (let at = isPlain ? first : first + 1n; at < (isPlain ? end : end - 1n); at++)
    yield toAddress(at, bytes.length)
}

const toNumber = (bytes: readonly number[]): bigint =>
  bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)

const toAddress = (value: bigint, length: number): string => {
  const bytes = Array.from({ length }, (_, at) =>
    Number((value >> BigInt(8 * (length - 1 - at))) & 0xffn),
  )
  return ipaddr.fromByteArray(bytes).toString()
}
