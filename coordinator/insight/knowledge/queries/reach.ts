import { isDependency } from '../graph-model.ts'
import type { TenantGraph } from '../tenant-graph.ts'

interface Reached {
  id: string
  /** Number of edges from the start. */
  depth: number
  /** Key of the edge through which it was reached first. */
  via: string
}

/**
 * Nodes that a node needs directly or indirectly (`out`), or that need it (`in`), nearest first. Only
 * dependencies are followed.
 */
export const reachDependencies = (
  { adjacency }: Pick<TenantGraph, 'adjacency'>,
  start: string,
  direction: 'out' | 'in',
): Reached[] => {
  const first = adjacency.numbers.get(start)
  if (first === undefined) return []
  const depths = new Map([[first, 0]])
  const reached: Reached[] = []
  const wanted = direction === 'out' ? 1 : 0
  for (const [node, depth] of depths) {
    const { from, to } = adjacency.placesOf(node)
    for (let place = from; place < to; place++) {
      const other = adjacency.others[place] as number
      const edge = adjacency.edgeAt[place] as number
      if (adjacency.isOut[place] !== wanted || depths.has(other)) continue
      if (!isDependency(adjacency.edge(edge).relation)) continue
      depths.set(other, depth + 1)
      reached.push({ id: adjacency.node(other).id, depth: depth + 1, via: adjacency.key(edge) })
    }
  }
  return reached
}
