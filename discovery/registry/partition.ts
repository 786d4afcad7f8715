import { joinByAddress } from './address-evidence.ts'
import { TraceGroups } from './groups.ts'
import { joinByKeys, joinByTwoKeys, type KeyAlarm, listCarriers } from './key-evidence.ts'
import type { Link } from './link.ts'
import type { IdentityPin } from './pin.ts'
import { isExclusive, isInterface, isSharedByCopies, type Trace } from './trace.ts'

export interface Partition {
  groups: Trace[][]
  alarms: KeyAlarm[]
}

/**
 * Divides traces into things. The result depends on the traces, their links and the pins only, never
 * on the order in which they came. Evidence is used from the surest down: decisions of operators,
 * keys of which a thing has one, interfaces of one site, two medium keys, addresses at one time. The
 * other strong keys come last, because a copied image carries them to other machines: by then the
 * machines are known, and a key whose carriers contradict each other joins none of them.
 */
export const partitionTraces = (
  all: readonly Trace[],
  links: readonly Link[],
  pins: readonly IdentityPin[],
): Partition => {
  const traces = all.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const groups = new TraceGroups(traces, links, pins)
  joinByPins(groups, traces, pins)
  const carriers = listCarriers(traces)
  const alarms = joinByKeys(groups, carriers, isExclusive)
  alarms.push(...joinByKeys(groups, carriers, isInterface))
  joinByTwoKeys(groups, carriers, links)
  joinByAddress(groups, traces, links)
  alarms.push(...joinByKeys(groups, carriers, isSharedByCopies))
  return { groups: groups.list(), alarms }
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
