import { isDeepStrictEqual } from 'node:util'
import type { SightingFacts } from '../sighting.ts'
import type { FactClaim } from './claim.ts'
import { freshnessOf, weightOf } from './source-weights.ts'

export type FactName = keyof SightingFacts

/** A field with where it comes from, and what other sources say. */
interface ResolvedField {
  value: unknown
  /** Module, or `operator` for a pinned value. */
  source: string
  cell_id: string | null
  at: string
  /** Weight of the source when the value was resolved, 0 to 1. */
  confidence: number
  conflicts: { value: unknown; source: string; at: string }[]
}

export type ResolvedFields = Partial<Record<FactName, ResolvedField>>

/** Fields whose values of several sources add up. */
const LISTS: ReadonlySet<string> = new Set<FactName>([
  'ip_addresses',
  'mac_addresses',
  'claimed_types',
  'services',
  'models',
  'neighbours',
])

const MAX_VALUES = 64
const MAX_CONFLICTS = 4

/** Chooses the value of each field by the priority of its source and its freshness. */
export const resolveFields = (
  claims: readonly FactClaim[],
  pinned: SightingFacts,
  now: number,
): ResolvedFields => {
  const ranked = claims.toSorted((a, b) => rankOf(b, now) - rankOf(a, now) || compareNames(a, b))
  const names = new Set(ranked.flatMap(({ facts }) => Object.keys(facts) as FactName[]))
  const fields: ResolvedFields = {}
  for (const name of [...names].toSorted()) fields[name] = resolveField(name, ranked, now)
  for (const [name, value] of Object.entries(pinned))
    fields[name as FactName] = pinField(value, fields[name as FactName], now)
  return fields
}

/** Values of the fields without where they come from. */
export const readValues = (fields: ResolvedFields): SightingFacts =>
  Object.fromEntries(
    Object.entries(fields).map(([name, { value }]) => [name, value]),
  ) as SightingFacts

const rankOf = (claim: FactClaim, now: number): number =>
  weightOf(claim.module).priority * freshnessOf(claim, now)

const compareNames = (a: FactClaim, b: FactClaim): number =>
  `${a.module} ${a.cellId}` < `${b.module} ${b.cellId}` ? -1 : 1

const resolveField = (name: FactName, ranked: readonly FactClaim[], now: number): ResolvedField => {
  const claims = ranked.filter(({ facts }) => facts[name] !== undefined)
  const [winner, ...others] = claims as [FactClaim, ...FactClaim[]]
  const isList = LISTS.has(name)
  const conflicts = isList
    ? []
    : others.filter(({ facts }) => !isDeepStrictEqual(facts[name], winner.facts[name]))
  return {
    value: isList ? joinValues(name, claims) : winner.facts[name],
    source: winner.module,
    cell_id: winner.cellId ?? null,
    at: new Date(winner.at).toISOString(),
    confidence: round(weightOf(winner.module).weight * freshnessOf(winner, now)),
    conflicts: conflicts.slice(0, MAX_CONFLICTS).map(({ module, at, facts }) => ({
      value: facts[name],
      source: module,
      at: new Date(at).toISOString(),
    })),
  }
}

/** All values of a list; of two services at one port that of the better source. */
const joinValues = (name: FactName, claims: readonly FactClaim[]): unknown[] => {
  const values = new Map<string, unknown>()
  for (const { facts } of claims)
    for (const value of facts[name] as unknown[]) {
      const key = nameOfValue(value)
      if (!values.has(key)) values.set(key, value)
    }
  const sorted = [...values].toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
  return sorted.slice(0, MAX_VALUES).map(([, value]) => value)
}

const nameOfValue = (value: unknown): string => {
  if (typeof value === 'string') return value
  const { port, transport } = value as { port: number; transport: string }
  return `${port}/${transport}`
}

const pinField = (value: unknown, old: ResolvedField | undefined, now: number): ResolvedField => ({
  value,
  source: 'operator',
  cell_id: null,
  at: new Date(now).toISOString(),
  confidence: 1,
  conflicts: old === undefined ? [] : [{ value: old.value, source: old.source, at: old.at }],
})

const round = (value: number): number => Math.round(value * 1000) / 1000
