import type { TenantGraph } from '../tenant-graph.ts'

type Graph = Pick<TenantGraph, 'adjacency' | 'unresolvedEdges'>

/** Counts the nodes, edges and relations of a graph, or of one of its layers. */
export const computeGraphStats = ({ adjacency, unresolvedEdges }: Graph, layer?: string) => {
  const kinds: Record<string, number> = {}
  const layers: Record<string, number> = {}
  const relations: Record<string, number> = {}
  let nodes = 0
  let edges = 0
  let orphans = 0
  let busiest: { id: string; degree: number } | undefined
  for (const [number, node] of adjacency.nodes.entries()) {
    if (layer !== undefined && node.layer !== layer) continue
    const degree = adjacency.degree(number)
    nodes++
    count(kinds, node.kind)
    count(layers, node.layer)
    if (degree === 0) orphans++
    if (degree > (busiest?.degree ?? 0)) busiest = { id: node.id, degree }
  }
  for (const edge of adjacency.edges) {
    if (layer !== undefined && edge.layer !== layer) continue
    edges++
    count(relations, edge.relation)
  }
  return { nodes, edges, orphans, unresolvedEdges, kinds, layers, relations, busiest }
}

const count = (counts: Record<string, number>, name: string): void => {
  counts[name] = (counts[name] ?? 0) + 1
}
