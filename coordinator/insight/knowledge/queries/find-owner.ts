import { type GraphEdge, OWNERSHIP } from '../graph-model.ts'
import type { TenantGraph } from '../tenant-graph.ts'

interface Owner {
  id: string
  /** Edges from the node to its owner. */
  path: GraphEdge[]
}

/** Most nodes that the search for an owner visits. */
const MAX_VISITED = 500

/**
 * Finds the owners of a node: the nearest targets of `owned_by`, `approved_by`, `accountable_to` or
 * `dedicated_to` on the way along its other edges. Several when the nearest are equally far.
 */
export const findOwners = ({ graph }: Pick<TenantGraph, 'graph'>, start: string): Owner[] => {
  const paths = new Map<string, GraphEdge[]>([[start, []]])
  const owners: Owner[] = []
  for (const [id, path] of paths) {
    const nearest = owners[0]?.path.length ?? Number.POSITIVE_INFINITY
    if (path.length >= nearest || paths.size > MAX_VISITED) break
    graph.forEachOutEdge(id, (_key, { edge }) => {
      const way = [...path, edge]
      if (OWNERSHIP.includes(edge.relation)) owners.push({ id: edge.target, path: way })
      else if (!paths.has(edge.target)) paths.set(edge.target, way)
    })
  }
  return owners
}
