import type { TenantGraph } from '../tenant-graph.ts'

interface Coverage {
  covered: string[]
  uncovered: string[]
}

/**
 * Divides the nodes of a layer by whether they have an edge to a node in `by`: another layer, or a
 * kind of node. Without `by`, an edge to any other layer counts.
 */
export const findCoverage = (
  { adjacency }: Pick<TenantGraph, 'adjacency'>,
  layer: string,
  by: string | undefined,
): Coverage => {
  const coverage: Coverage = { covered: [], uncovered: [] }
  const counts = (other: number): boolean => {
    const node = adjacency.node(other)
    return by === undefined ? node.layer !== layer : node.layer === by || node.kind === by
  }
  for (const [number, { id, layer: own }] of adjacency.nodes.entries()) {
    if (own !== layer) continue
    const { from, to } = adjacency.placesOf(number)
    const isCovered = adjacency.others.subarray(from, to).some(counts)
    coverage[isCovered ? 'covered' : 'uncovered'].push(id)
  }
  return coverage
}
