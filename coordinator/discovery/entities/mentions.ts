import type { SightingFacts } from '../../../discovery/sighting.ts'
import type { StoredTrace } from './evidence-rows.ts'

/** Values by which an entity can be recognised in what is stored of others. */
export interface Mentions {
  /** True when a text has a key, an address or the id of the entity in it. */
  isIn(text: string): boolean
  /** True when a text is its name. */
  isName(text: string): boolean
  /** A copy without strings that mention it; names count in lists of neighbours only. */
  drop(value: unknown, isNeighbours?: boolean): unknown
}

/** Shortest value that is searched for within texts; shorter values must equal the whole text. */
const MIN_LENGTH = 8

export const collectMentions = (
  entityIds: Iterable<string>,
  traces: readonly StoredTrace[],
): Mentions => {
  const facts = traces.flatMap(({ claims }) => claims.map(each => each.facts))
  const keys = traces.flatMap(trace => trace.keys)
  const ids = collectLowerCase([
    ...entityIds,
    ...traces.map(({ id }) => id),
    ...keys.flatMap(({ kind, value }) => (kind === 'ip' || kind === 'name' ? [] : [value])),
    ...facts.flatMap(({ mac_addresses = [], serial = '' }) => [...mac_addresses, serial]),
  ])
  const names = collectLowerCase([
    ...keys.flatMap(({ kind, value }) => (kind === 'name' ? [value] : [])),
    ...traces.flatMap(({ hostnames }) => hostnames),
    ...facts.flatMap(namesOf),
  ])
  const long = [...ids].filter(({ length }) => length >= MIN_LENGTH)
  const isIn = (text: string): boolean => {
    const found = text.toLowerCase()
    return ids.has(found) || long.some(id => found.includes(id))
  }
  const isName = (text: string): boolean => names.has(text.toLowerCase())
  const drop: Mentions['drop'] = (value, isNeighbours = false) => {
    if (typeof value === 'string')
      return isIn(value) || (isNeighbours && isName(value)) ? undefined : value
    if (Array.isArray(value))
      return value.map(each => drop(each, isNeighbours)).filter(each => each !== undefined)
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value).map(
      ([name, each]) => [name, drop(each, isNeighbours || name === 'neighbours')] as const,
    )
    return Object.fromEntries(entries.filter(([, each]) => each !== undefined))
  }
  return { isIn, isName, drop }
}

const namesOf = ({ name = '', hostname = '' }: SightingFacts): string[] => [
  name,
  hostname,
  hostname.replace(/\.local$/i, ''),
]

const collectLowerCase = (texts: readonly string[]): ReadonlySet<string> =>
  new Set(texts.map(text => text.toLowerCase()).filter(text => text !== ''))
