import type { EntityOf } from '../../kernel/store/define-table.ts'
import type { graphEdgeTable } from './graph-edge.table.ts'
import type { graphNodeTable } from './graph-node.table.ts'

/** A thing in the knowledge graph; an imported one is stored with its tenant. */
export type GraphNode = Omit<EntityOf<typeof graphNodeTable>, 'tenantId'>

/** A statement `source relation target`, read from left to right; see `graph_edges`. */
export interface GraphEdge
  extends Pick<EntityOf<typeof graphEdgeTable>, 'source' | 'relation' | 'target' | 'layer'> {
  /** Strength as it was declared, above 0 and at most 1. */
  weight: number
}

export interface GraphFacts {
  nodes: GraphNode[]
  edges: GraphEdge[]
}

/** Layers that are derived from the running system; imported layers have other names. */
export const LIVE_LAYERS = [
  'fleet',
  'models',
  'devices',
  'skills',
  'modules',
  'governance',
  'compliance',
  'tenants',
  'discovery',
  'operations',
  'services',
  'flows',
] as const

/** True for a layer that is derived from the running system. */
export const isLiveLayer = (layer: string): boolean =>
  (LIVE_LAYERS as readonly string[]).includes(layer)

/** Relations that name who answers for the source. */
export const OWNERSHIP: readonly string[] = [
  'owned_by',
  'approved_by',
  'accountable_to',
  'dedicated_to',
]
/** Relations that classify the source; the source does not stop working without the target. */
const CLASSIFICATION: readonly string[] = [
  'part_of',
  'in_domain',
  'in_toolset',
  'in_family',
  'tagged',
  'has_type',
  'is_a',
  'related_to',
  'about',
  'member_of',
]

/** True when the source of a relation needs its target; every relation not named above does. */
export const isDependency = (relation: string): boolean =>
  !OWNERSHIP.includes(relation) && !CLASSIFICATION.includes(relation)

/** Key of an edge: an edge is unique by its ends and relation. */
export const edgeKey = ({
  source,
  relation,
  target,
}: Pick<GraphEdge, 'source' | 'relation' | 'target'>): string => `${source} ${relation} ${target}`

export const nodeId = (kind: string, name: string): string => `${kind}:${name.replace(/\s+/g, '-')}`

interface NodeParts {
  kind: string
  /** Name within its kind; the id is made of both. */
  key: string
  name?: string
  text?: string
  attributes?: GraphNode['attributes']
}

/** Collects the facts of one layer. */
export const createLayer = (layer: string) => {
  const nodes: GraphNode[] = []
  const edges: GraphEdge[] = []
  return {
    nodes,
    edges,
    /** Adds a node and returns its id. */
    addNode({ kind, key, name = key, text = '', attributes = {} }: NodeParts): string {
      const id = nodeId(kind, key)
      nodes.push({ id, kind, name, text, layer, attributes })
      return id
    },
    addEdge(source: string, relation: string, target: string, weight = 1): void {
      edges.push({ source, relation, target, layer, weight })
    },
  }
}
