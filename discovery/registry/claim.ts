import type { SightingFacts } from '../sighting.ts'

/** Newest facts that one module on one cell reported about a thing. */
export interface FactClaim {
  module: string
  cellId: string | undefined
  /** Unix milliseconds. */
  at: number
  ttl_s: number | undefined
  facts: SightingFacts
}

/** Most claims that are kept of a trace; the oldest go. */
export const MAX_CLAIMS = 12

/** Puts a claim in place of an older one of the same module and cell. */
export const putClaim = (claims: readonly FactClaim[], next: FactClaim): FactClaim[] => {
  const isSame = ({ module, cellId }: FactClaim): boolean =>
    module === next.module && cellId === next.cellId
  const old = claims.find(isSame)
  if (old !== undefined && old.at > next.at) return [...claims]
  return [...claims.filter(claim => !isSame(claim)), next]
    .toSorted((a, b) => b.at - a.at)
    .slice(0, MAX_CLAIMS)
}
