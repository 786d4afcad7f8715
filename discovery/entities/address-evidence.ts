import type { TraceGroups } from './groups.ts'
import type { Link } from './link.ts'
import { isBare, isInterface, type Trace } from './trace.ts'

/** Another trace at the same address at the same time. */
interface Neighbour {
  trace: Trace
  link: Link
}

/**
 * Joins traces that were at one address of one site at the same time. An address is held by the
 * interface that was seen with it nearest in time: a trace without an interface joins its holder and
 * no other one, and two interfaces never join by an address, which may have been leased again.
 */
export const joinByAddress = (
  groups: TraceGroups,
  traces: readonly Trace[],
  links: readonly Link[],
): void => {
  const neighbours = listNeighbours(traces, links)
  const guests = traces.filter(trace => neighbours.has(trace.id) && !hasInterface(trace))
  const holders = new Map(
    guests.map(guest => [
      guest.id,
      findNearest(
        groups,
        guest,
        (neighbours.get(guest.id) ?? []).filter(({ trace }) => hasInterface(trace)),
      ),
    ]),
  )
  const identified = guests.filter(guest => !isBare(guest))
  for (const guest of identified) joinHolder(groups, guest, holders)
  joinGuests(groups, identified, neighbours, holders)
  for (const guest of guests.filter(isBare))
    if (holders.get(guest.id) !== undefined) joinHolder(groups, guest, holders)
    else joinNearest(groups, guest, neighbours.get(guest.id) ?? [])
}

const hasInterface = ({ keys }: Trace): boolean => keys.some(({ kind }) => isInterface(kind))

/** The holder of an address, or `contested` when two are equally near. */
type Nearest = Trace | 'contested' | undefined

const findNearest = (groups: TraceGroups, guest: Trace, all: readonly Neighbour[]): Nearest => {
  // a bare trace is an address, whose holders change: only the latest counts
  const rank: (link: Link) => [number, number] = isBare(guest)
    ? ({ at, distanceS }) => [-at, distanceS]
    : ({ at, distanceS }) => [distanceS, -at]
  const [best, ...others] = all.toSorted((x, y) => compare(rank(x.link), rank(y.link)))
  if (best === undefined) return undefined
  const equal = others.filter(({ link }) => compare(rank(link), rank(best.link)) === 0)
  return equal.every(({ trace }) => groups.isJoined(trace, best.trace)) ? best.trace : 'contested'
}

const compare = ([a, b]: [number, number], [c, d]: [number, number]): number => a - c || b - d

const joinHolder = (
  groups: TraceGroups,
  guest: Trace,
  holders: ReadonlyMap<string, Nearest>,
): void => {
  const holder = holders.get(guest.id)
  if (typeof holder === 'object' && !groups.contradicts(guest, holder)) groups.join(guest, holder)
}

const joinNearest = (groups: TraceGroups, guest: Trace, all: readonly Neighbour[]): void => {
  const nearest = findNearest(groups, guest, all)
  if (typeof nearest === 'object' && !groups.contradicts(guest, nearest))
    groups.join(guest, nearest)
}

/** Joins identified guests of one address, nearest first, unless their holders differ. */
const joinGuests = (
  groups: TraceGroups,
  guests: readonly Trace[],
  neighbours: ReadonlyMap<string, readonly Neighbour[]>,
  holders: ReadonlyMap<string, Nearest>,
): void => {
  const pairs = guests.flatMap(guest =>
    (neighbours.get(guest.id) ?? [])
      .filter(({ trace }) => guest.id < trace.id && !hasInterface(trace) && !isBare(trace))
      .map(({ trace, link }) => ({ guest, trace, link })),
  )
  for (const { guest, trace } of pairs.toSorted((x, y) => x.link.distanceS - y.link.distanceS)) {
    const [one, other] = [holders.get(guest.id), holders.get(trace.id)]
    const isContested = one === 'contested' || other === 'contested'
    const isElsewhere = one && other && !isContested && !groups.isJoined(one, other)
    if (!isContested && !isElsewhere && !groups.contradicts(guest, trace)) groups.join(guest, trace)
  }
}

/** Traces that met, by trace; without those at an address that no machine holds. */
const listNeighbours = (
  traces: readonly Trace[],
  links: readonly Link[],
): Map<string, Neighbour[]> => {
  const byId = new Map(traces.map(trace => [trace.id, trace]))
  const shared = new Set(traces.filter(({ isShared }) => isShared).flatMap(listAddresses))
  const neighbours = new Map<string, Neighbour[]>()
  const add = (trace: Trace, other: Trace, link: Link): void => {
    neighbours.set(trace.id, [...(neighbours.get(trace.id) ?? []), { trace: other, link }])
  }
  for (const link of links.toSorted(byPair)) {
    const [a, b] = [byId.get(link.a), byId.get(link.b)]
    if (link.kind !== 'met' || a === undefined || b === undefined) continue
    const others = new Set(listAddresses(b))
    if (!listAddresses(a).some(address => others.has(address) && !shared.has(address))) continue
    add(a, b, link)
    add(b, a, link)
  }
  return neighbours
}

const byPair = (x: Link, y: Link): number => (`${x.a}${x.b}` < `${y.a}${y.b}` ? -1 : 1)

const listAddresses = ({ keys, site }: Trace): string[] =>
  keys.filter(({ kind }) => kind === 'ip').map(({ value }) => `${site} ${value}`)
