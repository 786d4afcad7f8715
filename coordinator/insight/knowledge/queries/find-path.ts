import type { Adjacency } from '../adjacency.ts'
import type { GraphEdge } from '../graph-model.ts'
import type { TenantGraph } from '../tenant-graph.ts'

/**
 * Edges of a shortest path along the direction of the edges, or, when there is none, regardless of
 * it. Undefined when the two nodes are not connected.
 */
export const findPath = (
  { adjacency }: Pick<TenantGraph, 'adjacency'>,
  from: string,
  to: string,
): { edges: GraphEdge[]; isDirected: boolean } | undefined => {
  const ends = [adjacency.numbers.get(from), adjacency.numbers.get(to)] as const
  if (ends[0] === undefined || ends[1] === undefined) return undefined
  for (const isDirected of [true, false]) {
    const edges = search(adjacency, ends[0], ends[1], isDirected)
    if (edges !== undefined) return { edges, isDirected }
  }
  return undefined
}

const search = (
  adjacency: Adjacency,
  start: number,
  end: number,
  isDirected: boolean,
): GraphEdge[] | undefined => {
  /** Place by which each node was reached, at the node before it. */
  const reachedBy = new Map<number, { place: number; before: number } | undefined>([
    [start, undefined],
  ])
  for (const node of reachedBy.keys()) {
    if (node === end) break
    const { from, to } = adjacency.placesOf(node)
    for (let place = from; place < to; place++) {
      const other = adjacency.others[place] as number
      if (isDirected && adjacency.isOut[place] === 0) continue
      if (!reachedBy.has(other)) reachedBy.set(other, { place, before: node })
    }
  }
  if (!reachedBy.has(end)) return undefined
  const edges: GraphEdge[] = []
  for (let at = reachedBy.get(end); at !== undefined; at = reachedBy.get(at.before))
    edges.unshift(adjacency.edge(adjacency.edgeAt[at.place] as number))
  return edges
}
