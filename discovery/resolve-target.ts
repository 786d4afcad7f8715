import { lookup } from 'node:dns/promises'
import ipaddr from 'ipaddr.js'
import { ShoalError } from '../shared/errors.ts'
import type { ScanScope } from '../shared/wire/scan-scope.ts'
import {
  createForbiddenError,
  createOutOfScopeError,
  isForbiddenAddress,
  isInScope,
  isNameInScope,
  requireInScope,
} from './scope.ts'

/** A target with the addresses that it had when it was resolved. */
export interface PinnedTarget {
  /** The name or the address, as it was given. */
  host: string
  /** Addresses to connect to, the preferred one first. The name must not be resolved again. */
  addresses: readonly string[]
  /** Scope that allows these addresses as well, where the name of the target is in the scope. */
  scope: ScanScope
}

type Lookup = (name: string) => Promise<readonly { address: string }[]>

const lookUpAll: Lookup = name => lookup(name, { all: true })

/**
 * Resolves a host once and checks every address of it: in the scope, or of a name in the scope.
 * Addresses of cloud metadata and of container bridges are refused in any case.
 * @throws ShoalError scope_denied, or invalid_request for a name without an address and for what is
 * neither a name nor an address in its usual form
 */
export const resolveTarget = async (
  scope: ScanScope,
  host: string,
  lookUp: Lookup = lookUpAll,
): Promise<PinnedTarget> => {
  if (ipaddr.isValid(host)) {
    if (!host.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(host))
      throw new ShoalError('invalid_request', `${host} is not an address of four decimal parts`)
    requireInScope(scope, host)
    return { host, addresses: [host], scope }
  }
  if (/[/:@\s]/.test(host))
    throw new ShoalError(
      'invalid_request',
      `${host} is not a name or an address: write it without scheme, port and path`,
    )
  const isNamed = isNameInScope(scope, host)
  const addresses = await findAddresses(host, lookUp)
  for (const address of addresses) {
    const isAllowed = isNamed ? !isForbiddenAddress(scope, address) : false
    if (isAllowed || isInScope(scope, address)) continue
    if (isForbiddenAddress(scope, address)) throw createForbiddenError(`${host} (${address})`)
    throw createOutOfScopeError(host)
  }
  if (!isNamed) return { host, addresses, scope }
  const pinned = addresses.map(target => ({ target }))
  return { host, addresses, scope: { ...scope, entries: [...scope.entries, ...pinned] } }
}

const findAddresses = async (host: string, lookUp: Lookup): Promise<string[]> => {
  const found = await lookUp(host).catch(cause => {
    throw createUnresolvedError(host, cause)
  })
  if (found.length === 0) throw createUnresolvedError(host)
  return found.map(({ address }) => ipaddr.process(address).toString())
}

const createUnresolvedError = (host: string, cause?: unknown): ShoalError =>
  new ShoalError('invalid_request', `the name ${host} has no address`, { cause })
