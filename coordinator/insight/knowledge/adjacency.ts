import type { GraphEdge, GraphNode } from './graph-model.ts'

type Pause = () => Promise<void>

/** Edges between two pauses. */
const STEP = 256

/** The neighbours of a node in `Adjacency`: places from `from` to before `to`. */
interface Places {
  from: number
  to: number
}

/**
 * Snapshot of a graph with numbers in place of ids, for queries that follow many edges: a step over
 * the arrays costs a hundredth of one over the mutable graph. Every edge has two places: one at its
 * source, one at its target.
 */
export class Adjacency {
  readonly nodes: readonly GraphNode[]
  readonly edges: readonly GraphEdge[]
  readonly keys: readonly string[]
  /** Number of a node by its id. */
  readonly numbers: ReadonlyMap<string, number>
  /** Node at the other end, by place. */
  readonly others: Int32Array
  /** Number of the edge, by place. */
  readonly edgeAt: Int32Array
  /** 1 where the edge leads away from the node, by place. */
  readonly isOut: Uint8Array
  readonly inDegrees: Int32Array
  readonly outDegrees: Int32Array
  readonly #starts: Int32Array

  private constructor(
    nodes: readonly GraphNode[],
    edges: readonly GraphEdge[],
    keys: readonly string[],
  ) {
    this.nodes = nodes
    this.edges = edges
    this.keys = keys
    this.numbers = new Map(nodes.map(({ id }, number) => [id, number]))
    this.others = new Int32Array(edges.length * 2)
    this.edgeAt = new Int32Array(edges.length * 2)
    this.isOut = new Uint8Array(edges.length * 2)
    this.inDegrees = new Int32Array(nodes.length)
    this.outDegrees = new Int32Array(nodes.length)
    this.#starts = new Int32Array(nodes.length + 1)
  }

  static readonly empty = new Adjacency([], [], [])

  /** Every edge must connect two of the nodes. */
  static async build(
    nodes: readonly GraphNode[],
    { edges, keys }: { edges: readonly GraphEdge[]; keys: readonly string[] },
    pause: Pause,
  ): Promise<Adjacency> {
    const built = new Adjacency(nodes, edges, keys)
    const sources = new Int32Array(edges.length)
    const targets = new Int32Array(edges.length)
    for (const [edge, { source, target }] of edges.entries()) {
      if (edge % STEP === 0) await pause()
      const [from, to] = [built.numberOf(source), built.numberOf(target)]
      sources[edge] = from
      targets[edge] = to
      built.outDegrees[from] = (built.outDegrees[from] ?? 0) + 1
      built.inDegrees[to] = (built.inDegrees[to] ?? 0) + 1
    }
    for (let node = 0; node < nodes.length; node++)
      built.#starts[node + 1] = (built.#starts[node] ?? 0) + built.degree(node)
    await pause()
    built.#place(sources, targets)
    return built
  }

  #place(sources: Int32Array, targets: Int32Array): void {
    const free = this.#starts.slice()
    const put = (node: number, other: number, edge: number, isOut: number): void => {
      const place = free[node] ?? 0
      free[node] = place + 1
      this.others[place] = other
      this.edgeAt[place] = edge
      this.isOut[place] = isOut
    }
    for (let edge = 0; edge < sources.length; edge++) {
      const [source = 0, target = 0] = [sources[edge], targets[edge]]
      put(source, target, edge, 1)
      put(target, source, edge, 0)
    }
  }

  /** Throws TypeError for an unknown id. */
  numberOf(id: string): number {
    const number = this.numbers.get(id)
    if (number === undefined) throw new TypeError(`no node ${id}`)
    return number
  }

  degree(node: number): number {
    return (this.inDegrees[node] ?? 0) + (this.outDegrees[node] ?? 0)
  }

  placesOf(node: number): Places {
    return { from: this.#starts[node] ?? 0, to: this.#starts[node + 1] ?? 0 }
  }

  node(number: number): GraphNode {
    return this.nodes[number] as GraphNode
  }

  edge(number: number): GraphEdge {
    return this.edges[number] as GraphEdge
  }

  key(number: number): string {
    return this.keys[number] as string
  }
}
