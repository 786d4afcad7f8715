import { lookup } from 'node:dns/promises'
import ipaddr from 'ipaddr.js'
import { ShoalError } from '../../shared/errors.ts'
import { isMetadataAddress } from '../../shared/metadata-address.ts'
import { isAllowed } from '../probes/target.ts'

/** Returns all addresses of a name. */
export type Lookup = (host: string) => Promise<{ address: string }[]>

/**
 * Creates the check of hosts that links connect to: each name is resolved once, and every address
 * of it must be a loopback address or in the scope. Metadata services of clouds are never allowed.
 * @throws ShoalError scope_denied, or conflict for a name without an address
 */
export const createHostResolver =
  (
    scope: readonly string[],
    lookUp: Lookup = host => lookup(host, { all: true }),
  ): ((host: string, port: number) => Promise<string>) =>
  async (given, port) => {
    const host = given.toLowerCase()
    const [first, ...others] = await findAddresses(host, lookUp)
    if (first === undefined) throw createUnresolvedError(host)
    const isNamed = isInScope(host, port, scope)
    for (const address of [first, ...others]) {
      if (isMetadataAddress(ipaddr.parse(address)))
        throw new ShoalError('scope_denied', `${host} is a metadata service of a cloud`)
      if (!isNamed && !isLoopback(address) && !isInScope(address, port, scope))
        throw createDeniedError(host, address, port)
    }
    return first
  }

/** Addresses as they are read; an IPv4 address inside IPv6 counts as the IPv4 address. */
const findAddresses = async (host: string, lookUp: Lookup): Promise<string[]> => {
  try {
    const found = await lookUp(host)
    return found.map(({ address }) => ipaddr.process(address).toString())
  } catch (cause) {
    throw createUnresolvedError(host, cause)
  }
}

/** An entry without a port allows every port. */
const isInScope = (host: string, port: number, scope: readonly string[]): boolean =>
  isAllowed({ host }, scope) || isAllowed({ host, port }, scope)

const isLoopback = (address: string): boolean => ipaddr.parse(address).range() === 'loopback'

const createUnresolvedError = (host: string, cause?: unknown): ShoalError =>
  new ShoalError('conflict', `the name ${host} has no address`, { cause })

const createDeniedError = (host: string, address: string, port: number): ShoalError => {
  const target = host === address ? host : `${host} (${address})`
  return new ShoalError(
    'scope_denied',
    `${target} port ${port} is outside the scope of this cell; add it to devices.scope to allow it`,
  )
}
