import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { ShoalError } from '../../shared/errors.ts'
import type { ScanScope } from '../../shared/wire/scan-scope.ts'
import { isInScope, isNameInScope, requireInScope } from '../scope.ts'

export type ResolveName = (name: string) => Promise<readonly string[]>

/** A host that was resolved once and judged; connections go to `address` and nowhere else. */
export interface PinnedTarget {
  host: string
  address: string
  /** The scope with the address in it, for a host whose name an operator added. */
  scope: ScanScope
}

export const resolveName: ResolveName = async name =>
  (await lookup(name, { all: true, verbatim: true })).map(({ address }) => address)

/**
 * Resolves a host once. A name that is not in the scope itself is allowed when all of its addresses
 * are.
 * @throws ShoalError forbidden outside the scope, not_found for a name without an address
 */
export const resolveTarget = async (
  host: string,
  scope: ScanScope,
  resolve: ResolveName = resolveName,
): Promise<PinnedTarget> => {
  const addresses = isIP(host) === 0 ? await listAddresses(host, resolve) : [host]
  const pinned = isNameInScope(scope, host) ? addAddresses(scope, addresses) : scope
  for (const address of addresses) requireInScope(pinned, address)
  return { host, address: addresses[0] as string, scope: pinned }
}

const listAddresses = async (host: string, resolve: ResolveName): Promise<readonly string[]> => {
  const addresses = await resolve(host).catch(() => [])
  if (addresses.length === 0)
    throw new ShoalError('not_found', `the name ${host} has no address; check its spelling`)
  return addresses
}

/** Addresses of a name in the scope belong to it; those of metadata services stay outside. */
export const addAddresses = (scope: ScanScope, addresses: readonly string[]): ScanScope => ({
  entries: [...scope.entries, ...addresses.map(target => ({ target }))],
})

/** Addresses of the names in a scope, resolved once; names without an address are left out. */
export const resolveScopeNames = async (
  scope: ScanScope,
  resolve: ResolveName = resolveName,
): Promise<{ addresses: readonly string[]; scope: ScanScope }> => {
  const names = scope.entries.map(({ target }) => target).filter(isName)
  const lists = await Promise.all(names.map(name => resolve(name).catch(() => [])))
  const all = lists.flat()
  const pinned = addAddresses(scope, all)
  return { addresses: all.filter(address => isInScope(pinned, address)), scope: pinned }
}

const isName = (target: string): boolean => isIP(target.split('/')[0] ?? '') === 0
