import type { SightingContext } from '../module.ts'
import type { SightingKey } from '../sighting.ts'

/** Keys of the thing at an address. A loopback address is the cell itself. */
export const listAddressKeys = (address: string, { cellId }: SightingContext): SightingKey[] => {
  if (!isLoopbackAddress(address)) return [{ kind: 'ip', value: address.toLowerCase() }]
  return cellId === undefined ? [] : [{ kind: 'shoal_cell', value: cellId }]
}

/** Key of a fully qualified name; none for an address or a name without a domain. */
export const listNameKeys = (host: string): SightingKey[] =>
  host.includes(':') || !/\.[a-z][a-z0-9-]*$/i.test(host)
    ? []
    : [{ kind: 'fqdn', value: host.toLowerCase() }]

export const isLoopbackAddress = (address: string): boolean =>
  address.startsWith('127.') || address === '::1'

/** Fact `ip_addresses`; without loopback, which every machine has. */
export const listFactAddresses = (address: string): { ip_addresses?: string[] } =>
  isLoopbackAddress(address) ? {} : { ip_addresses: [address] }
