import { KEY_KINDS, type KeyKind, type SightingKey } from '../sighting.ts'
import { nameContest } from './contested-keys.ts'
import type { TraceGroups } from './groups.ts'
import { type Link, linkId } from './link.ts'
import { formatKey, isInterface, type Trace } from './trace.ts'

/**
 * A key that should identify one thing and is carried by several. `contradicted`: its carriers cannot
 * be one thing, as with a copied image; `quarantined`: two hosts of a site show it at once, so one may
 * pretend to be the other; `shared`: the same, and the hosts agree in their name.
 */
export interface KeyAlarm {
  key: SightingKey
  state: 'contradicted' | 'quarantined' | 'shared'
  traces: readonly string[]
}

/** A key and the traces that carry it; interfaces are told apart by their site. */
interface Carriers {
  key: SightingKey
  traces: Trace[]
}

/** Most carriers of one key that are compared in pairs; a medium key with more identifies nothing. */
export const MAX_COMPARED = 64

/** Keys and their carriers, in the order of the keys, without keys in quarantine at their site. */
export const listCarriers = (
  traces: readonly Trace[],
  quarantined: ReadonlySet<string>,
): Carriers[] => {
  const carriers = new Map<string, Carriers>()
  for (const trace of traces)
    for (const key of trace.keys) {
      const name = formatConnection(key, trace.site)
      if (name === undefined || quarantined.has(nameContest(key, trace.site))) continue
      const entry = carriers.get(name) ?? { key, traces: [] }
      carriers.set(name, { key, traces: [...entry.traces, trace] })
    }
  return [...carriers].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry)
}

/** Form of a key under which other traces carry the same; undefined for addresses and names. */
export const formatConnection = (key: SightingKey, site: string): string | undefined => {
  if (isInterface(key.kind)) return `${formatKey(key)} ${site}`
  return KEY_KINDS[key.kind] === 'weak' ? undefined : formatKey(key)
}

/** Joins the carriers of each key of some kinds; where they contradict, those of one site. */
export const joinByKeys = (
  groups: TraceGroups,
  carriers: readonly Carriers[],
  fits: (kind: KeyKind) => boolean,
): KeyAlarm[] => {
  const alarms: KeyAlarm[] = []
  for (const { key, traces } of carriers) {
    if (!fits(key.kind) || joinAll(groups, traces)) continue
    alarms.push({ key, state: 'contradicted', traces: traces.map(({ id }) => id) })
    for (const ofSite of Map.groupBy(traces, ({ site }) => site).values()) joinAll(groups, ofSite)
  }
  return alarms
}

/** Joins all or none; false when two of them contradict each other. */
const joinAll = (groups: TraceGroups, traces: readonly Trace[]): boolean => {
  const distinct = traces.filter(
    (trace, n) => !traces.slice(0, n).some(t => groups.isJoined(t, trace)),
  )
  const contradict = distinct.some((trace, n) =>
    distinct.slice(n + 1).some(other => groups.contradicts(trace, other)),
  )
  if (contradict) return false
  const [first, ...others] = distinct
  if (first) for (const other of others) groups.join(first, other)
  return true
}

/** Joins pairs with two medium keys in common, or with one that met at an address at one time. */
export const joinByTwoKeys = (
  groups: TraceGroups,
  carriers: readonly Carriers[],
  links: readonly Link[],
): void => {
  const met = new Set(links.filter(({ kind }) => kind === 'met').map(linkId))
  for (const [a, b] of listMediumPairs(carriers)) {
    const isEnough = countMedium(a, b) > 1 || met.has(linkId({ a: a.id, b: b.id }))
    if (isEnough && !groups.contradicts(a, b)) groups.join(a, b)
  }
}

/** Pairs that carry one medium key, the smaller id first. */
function* listMediumPairs(carriers: readonly Carriers[]): Generator<[Trace, Trace]> {
  for (const traces of gatherMedium(carriers).values()) {
    if (traces.length > MAX_COMPARED) continue
    for (const [n, a] of traces.entries()) for (const b of traces.slice(n + 1)) yield [a, b]
  }
}

/** Carriers of medium keys over all sites. */
const gatherMedium = (carriers: readonly Carriers[]): Map<string, Trace[]> => {
  const gathered = new Map<string, Trace[]>()
  for (const { key, traces } of carriers)
    if (KEY_KINDS[key.kind] === 'medium')
      gathered.set(formatKey(key), [...(gathered.get(formatKey(key)) ?? []), ...traces])
  for (const traces of gathered.values()) traces.sort((a, b) => (a.id < b.id ? -1 : 1))
  return gathered
}

const countMedium = (a: Trace, b: Trace): number => {
  const keys = new Set(b.keys.map(formatKey))
  return a.keys.filter(key => KEY_KINDS[key.kind] === 'medium' && keys.has(formatKey(key))).length
}
