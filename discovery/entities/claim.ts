import type { SightingFacts } from '../sighting.ts'

/** Newest facts that one module on one cell reported about a thing. */
export interface FactClaim {
  module: string
  cellId?: string | undefined
  /** Unix milliseconds. */
  at: number
  ttl_s?: number | undefined
  facts: SightingFacts
}

/** Most claims that are kept of a trace; the oldest go. */
const MAX_CLAIMS = 12
/** Most characters of JSON of these claims; the newest claim always stays. */
const MAX_CLAIM_LENGTH = 64 * 1024

/** Puts a claim in place of an older one of the same module and cell. */
export const putClaim = (claims: readonly FactClaim[], next: FactClaim): FactClaim[] => {
  const isSame = ({ module, cellId }: FactClaim): boolean =>
    module === next.module && cellId === next.cellId
  const old = claims.find(isSame)
  if (old !== undefined && old.at > next.at) return [...claims]
  return [...claims.filter(claim => !isSame(claim)), next]
    .toSorted((a, b) => b.at - a.at)
    .slice(0, MAX_CLAIMS)
    .filter(createLengthFilter())
}

/** Lets claims pass while they fit; the first one passes in any case. */
const createLengthFilter = () => {
  let length = 0
  return (claim: FactClaim, place: number): boolean => {
    length += JSON.stringify(claim).length
    return place === 0 || length <= MAX_CLAIM_LENGTH
  }
}
