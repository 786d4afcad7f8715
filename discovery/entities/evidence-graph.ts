import { formatConnection, type KeyAlarm, MAX_COMPARED } from './key-evidence.ts'
import { joinLinks, type Link, linkAt, linkId } from './link.ts'
import type { Observation } from './observation.ts'
import { partitionTraces } from './partition.ts'
import { type IdentityPin, listPinTraces } from './pin.ts'
import { addMoment } from './spans.ts'
import { addHostnames, formatKey, type Trace, type TraceHash, traceOf } from './trace.ts'

/** A trace that now belongs to another entity; `from` is undefined for a new trace. */
export interface Move {
  traceId: string
  from: string | undefined
  to: string
}

/** What a change of the evidence did. */
interface Regrouping {
  moves: Move[]
  alarms: KeyAlarm[]
  /** Ids of the traces that were looked at together. */
  traceIds: Set<string>
}

/** Most traces that are looked at together; more of them are connected by keys that mean nothing. */
const MAX_COMPONENT = 512

/**
 * Traces, what connects them, and the entities that follow. It holds all stored traces or the part
 * around some sightings: `listReach` names the keys and traces that a part needs.
 */
export class EvidenceGraph {
  readonly traces = new Map<string, Trace>()
  readonly links = new Map<string, Link>()
  readonly pins = new Map<string, IdentityPin>()
  /** Tells whether traces around one keep their entities, as a decision about it is unknown. */
  isHeld: (trace: Trace) => boolean = () => false
  readonly #byConnection = new Map<string, Set<string>>()
  readonly #byAddress = new Map<string, Set<string>>()
  readonly #linked = new Map<string, Set<string>>()
  readonly #hashes: TraceHash

  constructor(hashes: TraceHash) {
    this.#hashes = hashes
  }

  addTrace(trace: Trace): void {
    this.traces.set(trace.id, trace)
    for (const name of listConnections(trace)) addTo(this.#byConnection, name, trace.id)
    for (const name of listSiteAddresses(trace)) addTo(this.#byAddress, name, trace.id)
  }

  addLink(link: Link): void {
    this.links.set(linkId(link), link)
    addTo(this.#linked, link.a, link.b)
    addTo(this.#linked, link.b, link.a)
  }

  /**
   * Takes an observation in and returns its trace; undefined when nothing identifies it. Entities
   * follow with `regroup`, for all observations of a batch at once.
   */
  observe(
    observation: Observation,
    now: number,
  ): { trace: Trace; isNewEvidence: boolean } | undefined {
    const found = traceOf(observation, now, this.#hashes)
    if (found === undefined) return undefined
    const known = this.traces.get(found.id)
    const trace = known ?? found
    if (known === undefined) this.addTrace(trace)
    const isLinked = this.#linkNeighbours(trace, observation.at)
    trace.spans = addMoment(trace.spans, observation.at)
    const isRenamed = found.hostnames.some(name => !trace.hostnames.includes(name))
    trace.hostnames = addHostnames(found.hostnames, trace.hostnames)
    return { trace, isNewEvidence: known === undefined || isLinked || isRenamed }
  }

  /** Assigns the traces around some of them to entities; an entity has the id of its oldest trace. */
  regroup(traceIds: Iterable<string>): Regrouping {
    const done = new Set<string>()
    const result: Regrouping = { moves: [], alarms: [], traceIds: new Set() }
    for (const id of traceIds) {
      if (done.has(id) || !this.traces.has(id)) continue
      const component = this.#listComponent(id)
      for (const trace of component) done.add(trace.id)
      if (component.some(this.isHeld)) result.moves.push(...assignAlone(component))
      else this.#regroupComponent(component, result)
    }
    return result
  }

  /** Records which traces were at the same address, or elsewhere with the same strong key. */
  #linkNeighbours(seen: Trace, at: number): boolean {
    let isChanged = false
    let count = 0
    for (const id of this.#listCandidates(seen)) {
      const link = linkAt(seen, this.traces.get(id) as Trace, at)
      if (link === undefined) continue
      // a host may announce any number of things at its address
      if (++count > MAX_COMPARED) break
      const old = this.links.get(linkId(link))
      const next = old === undefined ? link : joinLinks(old, link)
      isChanged ||= !isSameLink(old, next)
      this.addLink(next)
    }
    return isChanged
  }

  #listCandidates(seen: Trace): Set<string> {
    const names = listConnections(seen).flatMap(name => [
      ...[...(this.#byConnection.get(name) ?? [])].slice(0, MAX_COMPARED),
    ])
    const addresses = listSiteAddresses(seen).flatMap(name => [
      ...(this.#byAddress.get(name) ?? []),
    ])
    const ids = new Set([...names, ...addresses])
    ids.delete(seen.id)
    return ids
  }

  /** Traces that evidence, links or pins connect with one, the nearest first. */
  #listComponent(start: string): Trace[] {
    const reached = new Set([start])
    for (const id of reached) {
      if (reached.size >= MAX_COMPONENT) break
      for (const next of this.#listConnected(id)) if (this.traces.has(next)) reached.add(next)
    }
    return [...reached].map(id => this.traces.get(id) as Trace)
  }

  #listConnected(id: string): string[] {
    const names = listConnections(this.traces.get(id) as Trace)
    const pinned = [...this.pins.values()].map(listPinTraces).filter(ids => ids.includes(id))
    return [
      ...names.flatMap(name => [...(this.#byConnection.get(name) ?? [])]),
      ...(this.#linked.get(id) ?? []),
      ...pinned.flat(),
    ]
  }

  #regroupComponent(component: readonly Trace[], result: Regrouping): void {
    const ids = new Set(component.map(({ id }) => id))
    for (const id of ids) result.traceIds.add(id)
    const links = component.flatMap(({ id }) =>
      [...(this.#linked.get(id) ?? [])]
        .filter(other => id < other && ids.has(other))
        .map(other => this.links.get(linkId({ a: id, b: other })) as Link),
    )
    const pins = [...this.pins.values()].filter(pin => listPinTraces(pin).some(id => ids.has(id)))
    const { groups, alarms } = partitionTraces(component, links, pins)
    result.alarms.push(...alarms)
    for (const group of groups) assignEntity(group, result.moves)
  }
}

const addTo = (index: Map<string, Set<string>>, name: string, id: string): void => {
  const ids = index.get(name)
  if (ids === undefined) index.set(name, new Set([id]))
  else ids.add(id)
}

const isSameLink = (old: Link | undefined, next: Link): boolean =>
  old !== undefined && old.distanceS === next.distanceS && old.at === next.at

/** Names of what a trace is found by, beside its addresses. */
export const listConnections = ({ keys, site }: Trace): string[] =>
  keys.flatMap(key => formatConnection(key, site) ?? [])

/** Names of the addresses of a trace. */
export const listSiteAddresses = ({ keys, site }: Trace): string[] =>
  keys.filter(({ kind }) => kind === 'ip').map(key => `${formatKey(key)} ${site}`)

/** Assigns the traces that have no entity, each to one of its own. */
export const assignAlone = (traces: readonly Trace[]): Move[] => {
  const moves: Move[] = []
  for (const trace of traces) if (trace.entityId === undefined) assignEntity([trace], moves)
  return moves
}

const assignEntity = (group: readonly Trace[], moves: Move[]): void => {
  const [founder] = group.toSorted((a, b) => a.bornAt - b.bornAt || (a.id < b.id ? -1 : 1))
  const to = (founder as Trace).foundedId
  for (const trace of group) {
    if (trace.entityId === to) continue
    moves.push({ traceId: trace.id, from: trace.entityId, to })
    trace.entityId = to
  }
}
