import type { KeyKind, SightingKey } from '../sighting.ts'
import type { TraceGroups } from './groups.ts'
import type { Link } from './link.ts'
import { formatKey, isContestable, isInterface, type Trace } from './trace.ts'

/** Kinds whose private half a host has used in a handshake: another host cannot repeat them. */
const PROVEN: ReadonlySet<KeyKind> = new Set(['tls_spki', 'ssh_host_key'])

/** A strong key that was alive at two addresses of one site at the same time. */
interface Contest {
  key: SightingKey
  site: string
  rivals: readonly (readonly [Trace, Trace])[]
}

/** A contest with its outcome: `shared` by interfaces of one host, or `quarantined`. */
export interface JudgedContest extends Contest {
  outcome: 'shared' | 'quarantined' | 'settled'
}

/** Name of a key at one site: a contest at one site says nothing about the others. */
export const nameContest = (key: SightingKey, site: string): string => `${site} ${formatKey(key)}`

/** Contests by their names, from the links of kind `rival`. */
export const listContests = (
  traces: readonly Trace[],
  links: readonly Link[],
): ReadonlyMap<string, Contest> => {
  const byId = new Map(traces.map(trace => [trace.id, trace]))
  const contests = new Map<string, Contest>()
  for (const link of links) {
    const [a, b] = [byId.get(link.a), byId.get(link.b)]
    if (link.kind !== 'rival' || a === undefined || b === undefined) continue
    const others = new Set(b.keys.map(formatKey))
    for (const key of a.keys) {
      if (!isContestable(key.kind) || !others.has(formatKey(key))) continue
      const name = nameContest(key, a.site)
      const rivals = [...(contests.get(name)?.rivals ?? []), [a, b] as const]
      contests.set(name, { key, site: a.site, rivals })
    }
  }
  return contests
}

/**
 * Judges a contest by groups that were made without contested keys. A host with several interfaces is
 * one that its other evidence joins, or whose interfaces agree in a key that no other host can repeat
 * or in their host name; else one of two hosts shows a key of the other, and the key joins neither.
 */
export const judgeContest = (contest: Contest, groups: TraceGroups): JudgedContest => {
  const outcomes = contest.rivals.map(([a, b]) => judgeRivals(contest.key, a, b, groups))
  const outcome = (['quarantined', 'shared'] as const).find(each => outcomes.includes(each))
  return { ...contest, outcome: outcome ?? 'settled' }
}

const judgeRivals = (
  contested: SightingKey,
  a: Trace,
  b: Trace,
  groups: TraceGroups,
): JudgedContest['outcome'] => {
  if (groups.isJoined(a, b)) return 'settled'
  const [one, other] = [groups.membersOf(a), groups.membersOf(b)]
  // without two interfaces, nothing says that there are two hosts
  if (!one.some(hasInterface) || !other.some(hasInterface)) return 'settled'
  const [hostnames, others] = [listHostnames(one), listHostnames(other)]
  const agrees = hostnames.some(name => others.includes(name))
  if (hostnames.length > 0 && others.length > 0 && !agrees) return 'quarantined'
  const proven = new Set(listProven(other))
  if (listProven(one).some(key => key !== formatKey(contested) && proven.has(key))) return 'settled'
  return agrees ? 'shared' : 'quarantined'
}

const hasInterface = ({ keys }: Trace): boolean => keys.some(({ kind }) => isInterface(kind))

const listHostnames = (traces: readonly Trace[]): string[] =>
  traces.flatMap(({ hostnames }) => hostnames)

const listProven = (traces: readonly Trace[]): string[] =>
  traces.flatMap(({ keys }) => keys.filter(({ kind }) => PROVEN.has(kind)).map(formatKey))
