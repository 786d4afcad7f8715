import type { TenantGraph } from './tenant-graph.ts'

/** Place of a node in its layer; every number is from 0 to 1. */
export interface StructuralRole {
  /** Incoming edges, on a logarithmic scale up to the most of its layer. */
  incoming: number
  /** Outgoing edges, likewise. */
  outgoing: number
  /** Part of its edges that lead to other layers. */
  outside: number
  /** Part of its edges with each relation and direction: `in requires`. */
  relations: ReadonlyMap<string, number>
}

interface LayerScale {
  in: number
  out: number
}

type Graph = Pick<TenantGraph, 'adjacency'>

/** Most incoming and outgoing edges of one of the nodes. */
export const scaleOf = ({ adjacency }: Graph, nodes: Iterable<number>): LayerScale => {
  const scale = { in: 1, out: 1 }
  for (const node of nodes) {
    scale.in = Math.max(scale.in, adjacency.inDegrees[node] ?? 0)
    scale.out = Math.max(scale.out, adjacency.outDegrees[node] ?? 0)
  }
  return scale
}

export const roleOf = ({ adjacency }: Graph, node: number, scale: LayerScale): StructuralRole => {
  const { layer } = adjacency.node(node)
  const counts = new Map<string, number>()
  const { from, to } = adjacency.placesOf(node)
  let outside = 0
  for (let place = from; place < to; place++) {
    const { relation } = adjacency.edge(adjacency.edgeAt[place] as number)
    const name = `${adjacency.isOut[place] === 1 ? 'out' : 'in'} ${relation}`
    counts.set(name, (counts.get(name) ?? 0) + 1)
    if (adjacency.node(adjacency.others[place] as number).layer !== layer) outside++
  }
  const edges = to - from
  return {
    incoming: onScale(adjacency.inDegrees[node] ?? 0, scale.in),
    outgoing: onScale(adjacency.outDegrees[node] ?? 0, scale.out),
    outside: edges === 0 ? 0 : outside / edges,
    relations: new Map([...counts].map(([relation, count]) => [relation, count / edges])),
  }
}

/** Weight of the shape; relations weigh less, because their names differ between domains. */
const SHAPE_WEIGHT = 0.6

/** Similarity of two roles, from 0 to 1, by their shapes and the relations that both have. */
export const compareRoles = (a: StructuralRole, b: StructuralRole): number => {
  const distance =
    Math.abs(a.incoming - b.incoming) +
    Math.abs(a.outgoing - b.outgoing) +
    Math.abs(a.outside - b.outside)
  let shared = 0
  for (const [relation, part] of a.relations)
    shared += Math.min(part, b.relations.get(relation) ?? 0)
  return SHAPE_WEIGHT * (1 - distance / 3) + (1 - SHAPE_WEIGHT) * shared
}

const onScale = (degree: number, most: number): number => Math.log1p(degree) / Math.log1p(most)
