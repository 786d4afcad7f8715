import { MultiDirectedGraph } from 'graphology'
import { Adjacency } from './adjacency.ts'
import type { LearningSettings } from './graph-learning-settings.table.ts'
import {
  edgeKey,
  type GraphEdge,
  type GraphFacts,
  type GraphNode,
  isLiveLayer,
} from './graph-model.ts'
import { DEFAULT_LEARNING, decayStrength, type LearnedStrength } from './learning-store.ts'
import { TextIndex } from './text-index.ts'

/** Mutable graph; the key of an edge is `edgeKey`. */
type KnowledgeGraph = MultiDirectedGraph<{ node: GraphNode }, { edge: GraphEdge }>

type Pause = () => Promise<void>

/** Nodes or edges between two pauses. */
const STEP = 64

/**
 * Graph that one tenant sees: facts of the running system, its imported layers, and its learned
 * strengths. It never contains data of another tenant.
 */
export class TenantGraph {
  readonly graph: KnowledgeGraph = new MultiDirectedGraph()
  readonly index = new TextIndex()
  /** Snapshot of the graph after the last `apply`, for queries that follow many edges. */
  adjacency = Adjacency.empty
  /** Unix milliseconds at which the facts were read. */
  asOf = 0
  /** Imported edges that are left out because one of their ends does not exist. */
  unresolvedEdges = 0
  settings: LearningSettings = DEFAULT_LEARNING
  learned: ReadonlyMap<string, LearnedStrength> = new Map()

  /**
   * Makes the graph equal to the facts by changing what differs, in slices. The first of several
   * nodes with the same id counts.
   */
  async apply({ nodes, edges }: GraphFacts, pause: Pause): Promise<void> {
    const kept = await this.#putNodes(nodes, pause)
    const hasDropped = await this.#dropNodes(kept.ids, pause)
    const connected = await this.#applyEdges(edges, pause)
    if (!kept.hasChanged && !hasDropped && !connected.hasChanged) return
    await pause()
    const current = [...kept.ids].flatMap(id => this.node(id) ?? [])
    await pause()
    this.adjacency = await Adjacency.build(current, connected, pause)
  }

  node(id: string): GraphNode | undefined {
    return this.graph.hasNode(id) ? this.graph.getNodeAttribute(id, 'node') : undefined
  }

  edge(key: string): GraphEdge {
    return this.graph.getEdgeAttribute(key, 'edge')
  }

  /** Learned strength of an edge at a time in Unix milliseconds, from 0 to 1. */
  readLearnedStrength(key: string, now: number): number {
    const known = this.learned.get(key)
    return known === undefined ? 0 : decayStrength(known, now, this.settings)
  }

  async #putNodes(
    nodes: readonly GraphNode[],
    pause: Pause,
  ): Promise<{ ids: ReadonlySet<string>; hasChanged: boolean }> {
    const ids = new Set<string>()
    let hasChanged = false
    for (const [n, node] of nodes.entries()) {
      if (n % STEP === 0) await pause()
      if (ids.has(node.id)) continue
      ids.add(node.id)
      const known = this.node(node.id)
      if (known !== undefined && isSameNode(known, node)) continue
      hasChanged = true
      this.graph.mergeNode(node.id, { node })
      this.index.put(node)
    }
    return { ids, hasChanged }
  }

  async #dropNodes(wanted: ReadonlySet<string>, pause: Pause): Promise<boolean> {
    let hasDropped = false
    for (const [n, id] of this.graph.nodes().entries()) {
      if (n % STEP === 0) await pause()
      if (wanted.has(id)) continue
      hasDropped = true
      this.index.remove(id)
      this.graph.dropNode(id)
    }
    return hasDropped
  }

  async #applyEdges(edges: readonly GraphEdge[], pause: Pause) {
    const wanted = new Map<string, GraphEdge>()
    let unresolved = 0
    let hasChanged = false
    for (const [n, edge] of edges.entries()) {
      if (n % STEP === 0) await pause()
      const { source, target } = edge
      const key = edgeKey(edge)
      if (wanted.has(key)) continue
      if (!this.graph.hasNode(source) || !this.graph.hasNode(target)) {
        if (!isLiveLayer(edge.layer)) unresolved++
        continue
      }
      wanted.set(key, edge)
      const known = this.graph.hasEdge(key) ? this.edge(key) : undefined
      if (known !== undefined && known.weight === edge.weight && known.layer === edge.layer)
        continue
      hasChanged = true
      if (known === undefined) this.graph.addEdgeWithKey(key, source, target, { edge })
      else this.graph.setEdgeAttribute(key, 'edge', edge)
    }
    for (const [n, key] of this.adjacency.keys.entries()) {
      if (n % STEP === 0) await pause()
      if (wanted.has(key) || !this.graph.hasEdge(key)) continue
      hasChanged = true
      this.graph.dropEdge(key)
    }
    this.unresolvedEdges = unresolved
    return { hasChanged, keys: [...wanted.keys()], edges: [...wanted.values()] }
  }
}

const isSameNode = (a: GraphNode, b: GraphNode): boolean =>
  a === b ||
  (a.name === b.name &&
    a.text === b.text &&
    a.layer === b.layer &&
    JSON.stringify(a.attributes) === JSON.stringify(b.attributes))
