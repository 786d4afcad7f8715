import { joinByAddress } from './address-evidence.ts'
import { type JudgedContest, judgeContest, listContests } from './contested-keys.ts'
import { TraceGroups } from './groups.ts'
import { joinByKeys, joinByTwoKeys, type KeyAlarm, listCarriers } from './key-evidence.ts'
import type { Link } from './link.ts'
import type { IdentityPin } from './pin.ts'
import { isExclusive, isInterface, isSharedByCopies, type Trace } from './trace.ts'

interface Partition {
  groups: Trace[][]
  alarms: KeyAlarm[]
}

/**
 * Divides traces into things. The result depends on the traces, their links and the pins only, never
 * on the order in which they came. Evidence is used from the surest down: decisions of operators,
 * keys of which a thing has one, interfaces of one site, two medium keys, addresses at one time. The
 * other strong keys come last, because a copied image carries them to other machines: by then the
 * machines are known, and a key whose carriers contradict each other joins none of them. Keys that two
 * addresses showed at once are judged by what the other evidence makes of their carriers.
 */
export const partitionTraces = (
  all: readonly Trace[],
  links: readonly Link[],
  pins: readonly IdentityPin[],
): Partition => {
  const traces = all.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const contests = listContests(traces, links)
  const without = joinEvidence(traces, links, pins, new Set(contests.keys()))
  if (contests.size === 0) return { groups: without.groups.list(), alarms: without.alarms }
  const judged = [...contests].map(
    ([name, contest]) => [name, judgeContest(contest, without.groups)] as const,
  )
  const quarantined = judged.filter(([, { outcome }]) => outcome === 'quarantined')
  const names = new Set(quarantined.map(([name]) => name))
  const { groups, alarms } = joinEvidence(traces, links, pins, names)
  alarms.push(...judged.flatMap(([, contest]) => alarmOf(contest, groups)))
  return { groups: groups.list(), alarms }
}

/** Alarm of a contest; none for a key in quarantine whose carriers other evidence has joined. */
const alarmOf = ({ key, rivals, outcome }: JudgedContest, groups: TraceGroups): KeyAlarm[] => {
  if (outcome === 'settled') return []
  const apart = rivals.filter(([a, b]) => outcome === 'shared' || !groups.isJoined(a, b))
  const traces = [...new Set(apart.flat().map(({ id }) => id))].toSorted()
  return traces.length === 0 ? [] : [{ key, state: outcome, traces }]
}

const joinEvidence = (
  traces: readonly Trace[],
  links: readonly Link[],
  pins: readonly IdentityPin[],
  quarantined: ReadonlySet<string>,
): { groups: TraceGroups; alarms: KeyAlarm[] } => {
  const groups = new TraceGroups(traces, links, pins)
  joinByPins(groups, traces, pins)
  const carriers = listCarriers(traces, quarantined)
  const alarms = joinByKeys(groups, carriers, isExclusive)
  alarms.push(...joinByKeys(groups, carriers, isInterface))
  joinByTwoKeys(groups, carriers, links)
  joinByAddress(groups, traces, links)
  alarms.push(...joinByKeys(groups, carriers, isSharedByCopies))
  return { groups, alarms }
}

const joinByPins = (
  groups: TraceGroups,
  traces: readonly Trace[],
  pins: readonly IdentityPin[],
): void => {
  const byId = new Map(traces.map(trace => [trace.id, trace]))
  for (const pin of pins) {
    if (pin.kind !== 'together') continue
    const [first, ...others] = pin.traces.flatMap(id => byId.get(id) ?? [])
    if (first) for (const other of others) groups.join(first, other)
  }
}
