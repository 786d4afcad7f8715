import { MAX_SCOPE_ENTRIES, type ScopeEntry } from '../shared/wire/scan-scope.ts'

/** Adds scopes up. A target that is listed twice is forced when one of its entries is. */
export const mergeScopes = (scopes: readonly (readonly ScopeEntry[])[]): ScopeEntry[] => {
  const merged = new Map<string, ScopeEntry>()
  for (const entry of scopes.flat())
    if (!merged.get(entry.target)?.is_forced) merged.set(entry.target, entry)
  return [...merged.values()].slice(0, MAX_SCOPE_ENTRIES)
}
