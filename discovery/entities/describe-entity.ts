import { KEY_KINDS, type SightingFacts, type SightingKey } from '../sighting.ts'
import type { FactClaim } from './claim.ts'
import { judgeRisk, type Risk } from './judge-risk.ts'
import { judgeType, type TypeGuess } from './judge-type.ts'
import { type ResolvedFields, readValues, resolveFields } from './resolve-fields.ts'
import { formatKey } from './trace.ts'
import { vendorOfMac } from './vendors/vendor-of-mac.ts'

/** Description of one entity: its fields, keys, type and risk. */
export interface EntityDescription {
  fields: ResolvedFields
  /** Keys by which it is known again, without those that change. */
  keys: SightingKey[]
  /** The two likeliest types, best first. */
  types: [TypeGuess, ...TypeGuess[]]
  risk: Risk
  /** Modules and cells that saw it, the newest first. */
  sources: { module: string; cell_id: string | null; at: string; ttl_s: number | null }[]
}

interface EntityEvidence {
  keys: readonly SightingKey[]
  claims: readonly FactClaim[]
  /** Values that an operator has set. */
  pinned: SightingFacts
  /** First time that it was recorded, Unix milliseconds. */
  firstAt: number
}

const MAX_KEYS = 64
const MAX_SOURCES = 32

export const describeEntity = (evidence: EntityEvidence, now: number): EntityDescription => {
  const { claims, pinned, firstAt } = evidence
  const keys = [...new Map(evidence.keys.map(key => [formatKey(key), key])).values()]
  const keyKinds = new Set(keys.map(({ kind }) => kind))
  const macVendor = findVendor(keys)
  const fields = resolveFields(withVendor(claims, macVendor), pinned, now)
  const facts = readValues(fields)
  const age_ms = keyKinds.has('shoal_cell') ? undefined : now - firstAt
  const vendor = facts.vendor ?? macVendor ?? ''
  const subject = { facts, keyKinds, vendor: vendor.toLowerCase(), age_ms, now }
  return {
    fields,
    keys: keys
      .filter(({ kind }) => KEY_KINDS[kind] !== 'weak' || keys.length === 1)
      .slice(0, MAX_KEYS),
    types: judgeType(subject),
    risk: judgeRisk(subject),
    sources: listSources(claims),
  }
}

const findVendor = (keys: readonly SightingKey[]): string | undefined => {
  for (const { kind, value } of keys) {
    const vendor = kind === 'mac' ? vendorOfMac(value) : undefined
    if (vendor !== undefined) return vendor
  }
  return undefined
}

/** Adds the vendor of a MAC address to the newest claim, where no module names a vendor. */
const withVendor = (claims: readonly FactClaim[], vendor: string | undefined): FactClaim[] => {
  const [newest] = claims.toSorted((a, b) => b.at - a.at)
  if (newest === undefined || vendor === undefined || claims.some(({ facts }) => facts.vendor))
    return [...claims]
  return [...claims, { ...newest, module: 'oui', facts: { vendor } }]
}

const listSources = (claims: readonly FactClaim[]): EntityDescription['sources'] => {
  const newest = new Map<string, FactClaim>()
  for (const claim of claims.toSorted((a, b) => a.at - b.at))
    newest.set(`${claim.module} ${claim.cellId}`, claim)
  return [...newest.values()]
    .toSorted((a, b) => b.at - a.at)
    .slice(0, MAX_SOURCES)
    .map(({ module, cellId, at, ttl_s }) => ({
      module,
      cell_id: cellId ?? null,
      at: new Date(at).toISOString(),
      ttl_s: ttl_s ?? null,
    }))
}
