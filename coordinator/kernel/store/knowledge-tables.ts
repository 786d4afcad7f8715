/** Tables of the knowledge graph: imported layers, and learned strengths. All belong to a tenant. */
export interface KnowledgeTables {
  graph_layers: GraphLayerRow
  graph_nodes: GraphNodeRow
  graph_edges: GraphEdgeRow
  graph_learning: GraphLearningRow
  graph_learning_settings: GraphLearningSettingsRow
}

export interface GraphLayerRow {
  tenant_id: string
  layer: string
  changed_at: number
  /** Actor of the last import. */
  changed_by: string
}

export interface GraphNodeRow {
  tenant_id: string
  id: string
  layer: string
  kind: string
  name: string
  text: string
  attributes_json: string
}

export interface GraphEdgeRow {
  tenant_id: string
  /** Source, relation and target, with blanks between. */
  edge_key: string
  layer: string
  source: string
  relation: string
  target: string
  /** Declared strength in parts per million, from 1 to 1,000,000. */
  weight_ppm: number
}

interface GraphLearningRow {
  tenant_id: string
  edge_key: string
  /** Learned strength at the time `at` in parts per million, up to 1,000,000; it decays from then. */
  strength_ppm: number
  at: number
}

interface GraphLearningSettingsRow {
  tenant_id: string
  enabled: number
  rate_percent: number
  half_life_hours: number
}
