import { LRUCache } from 'lru-cache'
import type { Actor } from '../../kernel/audit/audit.ts'
import { shareRuns } from '../../kernel/base/share-runs.ts'
import { createSlices } from '../../kernel/base/time-slices.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import type { LearningSettings } from './graph-learning-settings.table.ts'
import { type GraphFacts, nodeId } from './graph-model.ts'
import {
  deleteLayer,
  type ImportedLayer,
  importLayer,
  listLayers,
  readLayers,
} from './layer-store.ts'
import { addGains, readLearning, setLearning } from './learning-store.ts'
import {
  erasePersonStatements,
  isAtNode,
  type PersonStatement,
  readPersonStatements,
} from './person-in-graph.ts'
import { TenantGraph } from './tenant-graph.ts'

type Pause = () => Promise<void>

interface KnowledgeParts {
  ledger: Pick<Ledger, 'read' | 'sealed'>
  readLiveFacts: (tenantId: string, pause: Pause) => Promise<GraphFacts>
  /** Unix time, milliseconds. */
  now: () => number
}

/** A graph in memory with the parts of the store that it was made from. */
interface Resident {
  graph: TenantGraph
  imported: GraphFacts
  hasStaleLayers: boolean
  usedAt: number
  refresh: () => Promise<void>
}

/** Most graphs that are kept in memory, one per tenant. */
const MAX_GRAPHS = 8
/** Age from which a query waits for a refresh of its graph. */
const STALE_MS = 30_000
/** Time without a query after which a graph is no longer refreshed. */
const IDLE_MS = 600_000
/** Most edges of one tenant whose gains wait to be stored. */
const MAX_PENDING = 2000

/** The knowledge graphs of the tenants: current facts, imported layers and learning. */
export class Knowledge {
  readonly #parts: KnowledgeParts
  readonly #residents = new LRUCache<string, Resident>({ max: MAX_GRAPHS })
  #gains = new Map<string, Map<string, number>>()

  constructor(parts: KnowledgeParts) {
    this.#parts = parts
  }

  /** The graph of a tenant, at most half a minute old. */
  async graphOf(tenantId: string): Promise<TenantGraph> {
    const resident = this.#residents.get(tenantId) ?? this.#open(tenantId)
    const now = this.#parts.now()
    resident.usedAt = now
    if (resident.hasStaleLayers || now - resident.graph.asOf > STALE_MS) await resident.refresh()
    return resident.graph
  }

  /** Refreshes every graph that was queried within the last ten minutes. */
  async refreshUsed(): Promise<void> {
    const now = this.#parts.now()
    for (const resident of this.#residents.values())
      if (now - resident.usedAt < IDLE_MS) await resident.refresh()
  }

  /** Makes each graph read the imported layers of its tenant again before its next query. */
  markLayersStale(): void {
    for (const resident of this.#residents.values()) resident.hasStaleLayers = true
  }

  async readLearningAgain(): Promise<void> {
    for (const tenantId of this.#residents.keys()) await this.#readLearning(tenantId)
  }

  /** Notes gains of edges that were active together; no effect while learning is disabled. */
  noteGains(tenantId: string, gains: ReadonlyMap<string, number>): void {
    const pending = this.#gains.get(tenantId) ?? new Map<string, number>()
    this.#gains.set(tenantId, pending)
    for (const [key, gain] of gains)
      if (pending.has(key) || pending.size < MAX_PENDING)
        pending.set(key, (pending.get(key) ?? 0) + gain)
  }

  /** Stores the noted gains. Gains that cannot be stored are kept for the next call. */
  async learn(): Promise<void> {
    const { ledger, now } = this.#parts
    const noted = this.#gains
    this.#gains = new Map()
    for (const [tenantId, gains] of noted)
      try {
        await addGains(ledger, tenantId, gains, now())
        noted.delete(tenantId)
        await this.#readLearning(tenantId)
      } catch (error) {
        for (const [other, kept] of noted) this.noteGains(other, kept)
        throw error
      }
  }

  async setLearning(
    tenantId: string,
    change: Partial<LearningSettings> & { forget: boolean },
    by: Actor,
  ): Promise<void> {
    const { ledger, now } = this.#parts
    if (change.forget) this.#gains.delete(tenantId)
    await setLearning(ledger, { tenantId, ...change }, by, now())
    await this.#readLearning(tenantId)
  }

  listLayers(tenantId: string): Promise<ImportedLayer[]> {
    return listLayers(this.#parts.ledger.read, tenantId)
  }

  /** Stores nodes and edges of a layer. Throws as `importLayer` in layer-store.ts does. */
  async importLayer(
    tenantId: string,
    wanted: { layer: string; facts: GraphFacts; replaces: boolean },
    by: Actor,
  ): Promise<ImportedLayer> {
    const { ledger, now } = this.#parts
    const imported = await importLayer(ledger, { tenantId, ...wanted }, by, now())
    this.#markStale(tenantId)
    return imported
  }

  async deleteLayer(tenantId: string, layer: string, by: Actor): Promise<void> {
    const { ledger, now } = this.#parts
    await deleteLayer(ledger, { tenantId, layer }, by, now())
    this.#markStale(tenantId)
  }

  /** What imported layers say of a person. */
  findPerson(tenantId: string, personId: string): Promise<PersonStatement[]> {
    return readPersonStatements(this.#parts.ledger.read, tenantId, personId)
  }

  /** Deletes what layers and learning keep of a person; returns the number of statements. */
  async erasePersonWithin(trx: SealedTrx, tenantId: string, personId: string): Promise<number> {
    const node = nodeId('person', personId)
    const noted = this.#gains.get(tenantId)
    for (const key of [...(noted?.keys() ?? [])]) if (isAtNode(key, node)) noted?.delete(key)
    return erasePersonStatements(trx, tenantId, personId)
  }

  async #readLearning(tenantId: string): Promise<void> {
    const graph = this.#residents.peek(tenantId)?.graph
    if (graph !== undefined)
      Object.assign(graph, await readLearning(this.#parts.ledger.read, tenantId))
  }

  #markStale(tenantId: string): void {
    const resident = this.#residents.peek(tenantId)
    if (resident !== undefined) resident.hasStaleLayers = true
  }

  #open(tenantId: string): Resident {
    const now = this.#parts.now()
    const resident: Resident = {
      graph: new TenantGraph(),
      imported: { nodes: [], edges: [] },
      hasStaleLayers: true,
      usedAt: now,
      refresh: shareRuns(() => this.#refresh(tenantId, resident)),
    }
    this.#residents.set(tenantId, resident)
    return resident
  }

  async #refresh(tenantId: string, resident: Resident): Promise<void> {
    const { ledger, readLiveFacts, now } = this.#parts
    const pause = createSlices()
    if (resident.hasStaleLayers) {
      resident.hasStaleLayers = false
      try {
        resident.imported = await readLayers(ledger.read, tenantId, pause)
        Object.assign(resident.graph, await readLearning(ledger.read, tenantId))
      } catch (error) {
        resident.hasStaleLayers = true
        throw error
      }
    }
    const asOf = now()
    const live = await readLiveFacts(tenantId, pause)
    const { nodes, edges } = resident.imported
    const facts = { nodes: live.nodes.concat(nodes), edges: live.edges.concat(edges) }
    await resident.graph.apply(facts, pause)
    resident.graph.asOf = asOf
  }
}
