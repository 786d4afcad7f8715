import { formatCsvRow, guardFormula } from '../../kernel/base/format-csv.ts'
import type { GraphEdge, GraphNode } from './graph-model.ts'
import { takePage } from './take-page.ts'
import type { TenantGraph } from './tenant-graph.ts'

type Format = 'json' | 'csv'

export const EXPORT_TYPES: Record<Format, string> = {
  json: 'application/json',
  csv: 'text/csv; charset=utf-8',
}

interface ExportPage {
  what: 'nodes' | 'edges'
  layer?: string | undefined
  after?: string | undefined
  limit: number
}

/** A page in the form of an import; only the first page of CSV has the header line. */
export const exportPage = (
  graph: TenantGraph,
  format: Format,
  { what, layer, ...page }: ExportPage,
): { text: string; next: string | null } => {
  const isIn = (each: GraphNode | GraphEdge): boolean => layer === undefined || each.layer === layer
  const { nodes, edges, keys: edgeKeys } = graph.adjacency
  const all =
    what === 'nodes'
      ? nodes.filter(isIn).map(({ id }) => id)
      : edgeKeys.filter((_key, number) => isIn(edges[number] as GraphEdge))
  const keys = takePage(all, page)
  const rows =
    what === 'nodes'
      ? keys.flatMap(key => graph.node(key) ?? []).map(nodeRow)
      : keys.filter(key => graph.graph.hasEdge(key)).map(key => edgeRow(graph.edge(key)))
  const next = keys.length === page.limit ? (keys.at(-1) ?? null) : null
  if (format === 'json') return { text: JSON.stringify({ [what]: rows }), next }
  const lines = rows.map(row => formatCsvRow(Object.values(row).map(formatCell)))
  const header = page.after === undefined ? [formatCsvRow(HEADERS[what])] : []
  return { text: [...header, ...lines].join(''), next }
}

const HEADERS = {
  nodes: ['id', 'name', 'text', 'attributes'],
  edges: ['source', 'relation', 'target', 'weight'],
}

const nodeRow = ({ id, name, text, attributes }: GraphNode) => ({ id, name, text, attributes })
const edgeRow = ({ source, relation, target, weight }: GraphEdge) => ({
  source,
  relation,
  target,
  weight,
})

const formatCell = (value: unknown): string => {
  if (typeof value === 'number') return String(value)
  return guardFormula(typeof value === 'string' ? value : JSON.stringify(value))
}
