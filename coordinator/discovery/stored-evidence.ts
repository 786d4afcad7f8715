import { type FactClaim, putClaim } from '../../discovery/registry/claim.ts'
import {
  EvidenceGraph,
  listConnections,
  listSiteAddresses,
  type Move,
} from '../../discovery/registry/evidence-graph.ts'
import type { Link } from '../../discovery/registry/link.ts'
import type { Observation } from '../../discovery/registry/observation.ts'
import { listPinTraces } from '../../discovery/registry/pin.ts'
import { traceOf } from '../../discovery/registry/trace.ts'
import type { SealedTrx } from '../store/store.ts'
import {
  putLink,
  putTrace,
  putTraceNames,
  readIdentityPins,
  readLinks,
  readTraceIds,
  readTraces,
  type StoredTrace,
} from './registry-rows.ts'

/** Most traces that one transaction reads around some sightings. */
const MAX_LOADED = 4096

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
  readonly #graph = new EvidenceGraph()
  readonly #claims = new Map<string, readonly FactClaim[]>()
  readonly #lastAt = new Map<string, number>()
  readonly #dirty = new Set<string>()
  readonly #knownIds = new Set<string>()
  readonly #knownLinks = new Map<string, Link>()

  constructor(trx: SealedTrx) {
    this.#trx = trx
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

  /** Assigns the traces around some of them again, after a change of evidence or pins. */
  async regroup(ids: readonly string[]): Promise<Move[]> {
    if (ids.length === 0) return []
    for (const pin of await readIdentityPins(this.#trx)) this.#graph.pins.set(pin.id, pin)
    await this.#loadConnected(ids)
    const { moves } = this.#graph.regroup(ids)
    for (const { traceId } of moves) this.#dirty.add(traceId)
    return moves
  }

  /** Writes what has changed. */
  async save(): Promise<void> {
    for (const id of this.#dirty) {
      const trace = this.#stored(id)
      await putTrace(this.#trx, trace)
      if (!this.#knownIds.has(id)) await putTraceNames(this.#trx, trace)
    }
    for (const [id, link] of this.#graph.links)
      if (this.#knownLinks.get(id) !== link) await putLink(this.#trx, link)
  }

  /** Entity of a trace that was observed. */
  entityOf(traceId: string): string | undefined {
    return this.#graph.traces.get(traceId)?.entityId
  }

  #stored(id: string): StoredTrace {
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
    const traces = observations.flatMap(observation => traceOf(observation, now) ?? [])
    const names = traces.flatMap(trace => [...listConnections(trace), ...listSiteAddresses(trace)])
    const ids = await readTraceIds(this.#trx, names)
    await this.#load([...traces.map(({ id }) => id), ...ids])
    for (const link of await readLinks(
      this.#trx,
      traces.map(({ id }) => id),
    ))
      this.#addLink(link)
  }

  /** Reads everything that is connected with some traces. */
  async #loadConnected(start: readonly string[]): Promise<void> {
    const reached = new Set<string>()
    let edge = [...new Set(start)]
    while (edge.length > 0 && reached.size < MAX_LOADED) {
      for (const id of edge) reached.add(id)
      await this.#load(edge)
      const links = await readLinks(this.#trx, edge)
      for (const link of links) this.#addLink(link)
      const own = edge.flatMap(id => this.#graph.traces.get(id) ?? [])
      const near = await readTraceIds(this.#trx, own.flatMap(listConnections))
      const pinned = [...this.#graph.pins.values()]
        .map(listPinTraces)
        .filter(ids => ids.some(id => edge.includes(id)))
      const next = [...near, ...links.flatMap(({ a, b }) => [a, b]), ...pinned.flat()]
      edge = [...new Set(next)].filter(id => !reached.has(id))
    }
    await this.#load(edge)
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
    const id = `${link.a} ${link.b}`
    if (this.#graph.links.has(id)) return
    this.#graph.addLink(link)
    this.#knownLinks.set(id, link)
  }
}
