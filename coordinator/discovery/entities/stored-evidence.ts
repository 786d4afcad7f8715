import { type FactClaim, putClaim } from '../../../discovery/entities/claim.ts'
import {
  assignAlone,
  EvidenceGraph,
  listConnections,
  listSiteAddresses,
  type Move,
} from '../../../discovery/entities/evidence-graph.ts'
import { type KeyAlarm, MAX_COMPARED } from '../../../discovery/entities/key-evidence.ts'
import { type Link, linkId } from '../../../discovery/entities/link.ts'
import type { Observation } from '../../../discovery/entities/observation.ts'
import { listPinTraces } from '../../../discovery/entities/pin.ts'
import { type TraceHash, traceOf } from '../../../discovery/entities/trace.ts'
import type { EventDraft } from '../../kernel/events/bus.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import {
  putLink,
  putTrace,
  putTraceNames,
  readIdentityPins,
  readLinks,
  readTraceIds,
  readTraceLengths,
  readTraces,
  type StoredTrace,
} from './evidence-rows.ts'
import { createAlarmEvents, replaceAlarms } from './key-alarms.ts'

/** Bounds of what one transaction reads around its sightings, whose own traces do not count. */
export interface EvidenceBounds {
  traces: number
  /** Characters of JSON of these traces. */
  length: number
  links: number
}

const BOUNDS: EvidenceBounds = { traces: 4096, length: 32 * 1024 * 1024, links: 32_768 }

/** What a batch of observations did to the traces. */
export interface EvidenceChange {
  /** Ids of the traces that were seen, in the order of the observations that identify something. */
  seen: { traceId: string; observation: Observation }[]
  moves: Move[]
}

/**
 * The part of the evidence around some sightings, read and written in one transaction of the sealed
 * lane. Coordinators take turns there, so each decides by what the others have stored.
 */
export class StoredEvidence {
  readonly #trx: SealedTrx
  readonly #hashes: TraceHash
  readonly #left: EvidenceBounds
  #isCut = false
  #hold: string | undefined
  readonly #graph: EvidenceGraph
  readonly #claims = new Map<string, readonly FactClaim[]>()
  readonly #lastAt = new Map<string, number>()
  readonly #dirty = new Set<string>()
  readonly #knownIds = new Set<string>()
  readonly #knownLinks = new Map<string, Link>()
  readonly #unreadLinks = new Map<string, Pick<Link, 'a' | 'b'>>()
  readonly #regrouped = new Set<string>()
  readonly #alarms: KeyAlarm[] = []

  constructor(trx: SealedTrx, hashes: TraceHash, bounds: EvidenceBounds = BOUNDS) {
    this.#trx = trx
    this.#hashes = hashes
    this.#left = { ...bounds }
    this.#graph = new EvidenceGraph(hashes)
  }

  /**
   * True when more belongs to the sightings than the bounds allow: with part of the evidence, traces
   * must be neither merged nor split, and alarms of keys neither raised nor ended.
   */
  get isCut(): boolean {
    return this.#isCut
  }

  /** Why traces keep their entities, with the remedy; undefined when all were assigned. */
  get hold(): string | undefined {
    return this.#hold
  }

  /** Takes observations in and assigns their traces to entities. */
  async observe(observations: readonly Observation[], now: number): Promise<EvidenceChange> {
    await this.#loadAround(observations, now)
    const [seen, fresh]: [EvidenceChange['seen'], string[]] = [[], []]
    for (const observation of observations) {
      const found = this.#graph.observe(observation, now)
      if (found === undefined) continue
      const { id } = found.trace
      this.#putClaim(id, observation)
      seen.push({ traceId: id, observation })
      if (found.isNewEvidence) fresh.push(id)
    }
    const moves = await this.regroup(fresh)
    return { seen, moves }
  }

  /**
   * Assigns the traces around some of them again, after a change of evidence or pins. When the
   * evidence is cut, or a decision or link cannot be read, only new traces are assigned, each to an
   * entity of its own.
   */
  async regroup(ids: readonly string[]): Promise<Move[]> {
    if (ids.length === 0) return []
    const { pins, findHolder } = await readIdentityPins(this.#trx)
    for (const pin of pins) this.#graph.pins.set(pin.id, pin)
    await this.#loadConnected(ids)
    const unlinked = this.#listUnlinked()
    this.#graph.isHeld = trace => {
      const hold = describeHold(findHolder(trace), unlinked.has(trace.id))
      this.#hold ??= hold
      return hold !== undefined
    }
    if (this.#isCut) return this.#keepApart(ids)
    const { moves, alarms, traceIds } = this.#graph.regroup(ids)
    this.#alarms.push(...alarms)
    for (const id of traceIds) this.#regrouped.add(id)
    for (const { traceId } of moves) this.#dirty.add(traceId)
    return moves
  }

  /** Writes what has changed, and returns the events of keys that turned out to be shared. */
  async save(now: number): Promise<EventDraft[]> {
    for (const id of this.#dirty) {
      const trace = this.#readStored(id)
      await putTrace(this.#trx, trace)
      if (!this.#knownIds.has(id)) await putTraceNames(this.#trx, trace)
    }
    for (const [id, link] of this.#graph.links)
      if (this.#knownLinks.get(id) !== link) await putLink(this.#trx, link)
    const raised = await replaceAlarms(this.#trx, this.#regrouped, this.#alarms, now)
    return createAlarmEvents(raised, id => this.entityOf(id))
  }

  /** Entity of a trace that was observed. */
  entityOf(traceId: string): string | undefined {
    return this.#graph.traces.get(traceId)?.entityId
  }

  /** Ids of traces with a link that cannot be read and that no observation has replaced. */
  #listUnlinked(): ReadonlySet<string> {
    const open = [...this.#unreadLinks].filter(([id]) => !this.#graph.links.has(id))
    return new Set(open.flatMap(([, { a, b }]) => [a, b]))
  }

  #keepApart(ids: readonly string[]): Move[] {
    return assignAlone(ids.flatMap(id => this.#graph.traces.get(id) ?? []))
  }

  #readStored(id: string): StoredTrace {
    const trace = this.#graph.traces.get(id)
    if (trace === undefined) throw new Error(`trace ${id} is not loaded`)
    const lastAt = this.#lastAt.get(id) ?? trace.bornAt
    return { ...trace, claims: this.#claims.get(id) ?? [], lastAt }
  }

  #putClaim(id: string, { sighting, module, cellId, at }: Observation): void {
    const ttl_s = sighting.ttl_seconds
    const claim = { module, cellId, at, ttl_s, facts: sighting.facts }
    this.#claims.set(id, putClaim(this.#claims.get(id) ?? [], claim))
    this.#lastAt.set(id, Math.max(this.#lastAt.get(id) ?? 0, at))
    this.#dirty.add(id)
  }

  /** Reads the traces of the observations, and those that they may be linked with. */
  async #loadAround(observations: readonly Observation[], now: number): Promise<void> {
    const traces = observations.flatMap(
      observation => traceOf(observation, now, this.#hashes) ?? [],
    )
    const names = traces.flatMap(trace => [...listConnections(trace), ...listSiteAddresses(trace)])
    const ids = traces.map(({ id }) => id)
    await this.#load(ids)
    await this.#loadWithin(await this.#findNamed(names, MAX_COMPARED + 1))
    await this.#loadLinks(ids)
  }

  /** Reads everything that is connected with some traces. */
  async #loadConnected(start: readonly string[]): Promise<void> {
    const reached = new Set<string>()
    let edge = [...new Set(start)]
    while (edge.length > 0 && !this.#isCut) {
      for (const id of edge) reached.add(id)
      await this.#loadWithin(edge)
      const links = await this.#loadLinks(edge)
      const own = edge.flatMap(id => this.#graph.traces.get(id) ?? [])
      const near = await this.#findNamed(own.flatMap(listConnections), BOUNDS.traces)
      const pinned = [...this.#graph.pins.values()]
        .map(listPinTraces)
        .filter(ids => ids.some(id => edge.includes(id)))
      const next = [...near, ...links.flatMap(({ a, b }) => [a, b]), ...pinned.flat()]
      edge = [...new Set(next)].filter(id => !reached.has(id))
    }
  }

  /** Ids of the traces with one of the names that are known here, or may still be read. */
  #findNamed(names: readonly string[], perName: number): Promise<string[]> {
    const limit = this.#graph.traces.size + Math.max(0, this.#left.traces)
    return readTraceIds(this.#trx, [...new Set(names)], { perName, limit })
  }

  /** Reads traces unless they are beyond the bounds. */
  async #loadWithin(ids: readonly string[]): Promise<void> {
    const missing = ids.filter(id => !this.#graph.traces.has(id))
    const lengths = await readTraceLengths(this.#trx, missing)
    this.#left.traces -= lengths.size
    for (const length of lengths.values()) this.#left.length -= length
    if (this.#left.traces < 0 || this.#left.length < 0) this.#isCut = true
    else await this.#load(missing)
  }

  async #loadLinks(ids: readonly string[]): Promise<Link[]> {
    const { links, unread } = await readLinks(this.#trx, ids, Math.max(0, this.#left.links) + 1)
    this.#left.links -= links.length + unread.length
    if (this.#left.links < 0) this.#isCut = true
    for (const link of links) this.#addLink(link)
    for (const pair of unread) this.#unreadLinks.set(linkId(pair), pair)
    return links
  }

  async #load(ids: readonly string[]): Promise<void> {
    const missing = ids.filter(id => !this.#graph.traces.has(id))
    for (const { claims, lastAt, ...trace } of await readTraces(this.#trx, missing)) {
      this.#graph.addTrace(trace)
      this.#knownIds.add(trace.id)
      this.#claims.set(trace.id, claims)
      this.#lastAt.set(trace.id, lastAt)
    }
  }

  /** A link that this transaction has changed stays as it is. */
  #addLink(link: Link): void {
    const id = linkId(link)
    if (this.#graph.links.has(id)) return
    this.#graph.addLink(link)
    this.#knownLinks.set(id, link)
  }
}

/** Why a trace is held; a link is stored again when both of its traces are seen. */
const describeHold = (pinId: string | undefined, isUnlinked: boolean): string | undefined => {
  if (pinId !== undefined)
    return `the pin ${pinId} about these entities cannot be read; remove it first, or upgrade this coordinator`
  return isUnlinked
    ? 'a link between sightings of these entities cannot be read; scan them again, or upgrade this coordinator'
    : undefined
}
