import type {
  GraphEdge,
  GraphFacts,
  GraphNode,
} from '../../coordinator/insight/knowledge/graph-model.ts'
import { TenantGraph } from '../../coordinator/insight/knowledge/tenant-graph.ts'

export const nodeOf = (id: string, more: Partial<GraphNode> = {}): GraphNode => {
  const [kind = '', name = ''] = id.split(':')
  return { id, kind, name, text: '', layer: 'test', attributes: {}, ...more }
}

/** Facts of edges in words: `service:a uses service:b`, or `service:a uses service:b 0.5`. */
export const factsOf = (statements: readonly string[], nodes: readonly GraphNode[] = []) => {
  const edges = statements.map((statement): GraphEdge => {
    const [source = '', relation = '', target = '', weight = '1'] = statement.split(' ')
    return { source, relation, target, layer: 'test', weight: Number(weight) }
  })
  const ids = new Set(edges.flatMap(({ source, target }) => [source, target]))
  const facts: GraphFacts = { nodes: [...nodes, ...[...ids].map(id => nodeOf(id))], edges }
  return facts
}

export const noPause = async (): Promise<void> => {}

export const graphOf = async (
  statements: readonly string[],
  nodes: readonly GraphNode[] = [],
): Promise<TenantGraph> => {
  const graph = new TenantGraph()
  await graph.apply(factsOf(statements, nodes), noPause)
  return graph
}
