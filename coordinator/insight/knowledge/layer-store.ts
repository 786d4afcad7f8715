import type { Kysely } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import { splitList } from '../../kernel/base/split-list.ts'
import { createSlices } from '../../kernel/base/time-slices.ts'
import { countMatchingRows } from '../../kernel/store/count.ts'
import type { RowOf } from '../../kernel/store/define-table.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { graphEdgeTable } from './graph-edge.table.ts'
import { type GraphLayer, graphLayerTable } from './graph-layer.table.ts'
import { edgeKey, type GraphEdge, type GraphFacts, type GraphNode } from './graph-model.ts'
import { graphNodeTable } from './graph-node.table.ts'

/** Most imported nodes, edges and layers of one tenant. */
export const LAYER_LIMITS = { nodes: 20_000, edges: 60_000, layers: 64 }

export interface ImportedLayer extends GraphLayer {
  nodes: number
  edges: number
}

interface LayerImport {
  tenantId: string
  layer: string
  facts: GraphFacts
  /** True deletes what the layer had before. */
  replaces: boolean
}

type Trx = SealedTrx
type Reading = Pick<Kysely<LedgerTables>, 'selectFrom'>

const PPM = 1_000_000
/** Rows per statement: the number of its parameters is limited. */
const AT_ONCE = 100
/** Rows per read, which takes a few milliseconds. */
const PAGE = 1000

/**
 * Stores the nodes and edges of a layer. A node or edge that is there already is overwritten. Throws
 * `conflict` when it belongs to another layer, and when the tenant would have more than `LAYER_LIMITS`.
 */
export const importLayer = (
  ledger: Pick<Ledger, 'sealed'>,
  { tenantId, layer, facts, replaces }: LayerImport,
  by: Actor,
  now: number,
): Promise<ImportedLayer> =>
  ledger.sealed.write(async trx => {
    if (replaces) await deleteRows(trx, tenantId, layer)
    const nodes = [...new Map(facts.nodes.map(node => [node.id, node])).values()]
    const edges = [...new Map(facts.edges.map(edge => [edgeKey(edge), edge])).values()]
    // a turn of the event loop within the transaction: SQLite answers without one
    const pause = createSlices()
    for (const part of splitList(nodes, AT_ONCE)) {
      await pause()
      await putNodes(trx, tenantId, layer, part)
    }
    for (const part of splitList(edges, AT_ONCE)) {
      await pause()
      await putEdges(trx, tenantId, layer, part)
    }
    const row = graphLayerTable.write({ tenantId, layer, changedAt: now, changedBy: by.actor })
    await trx
      .insertInto('graph_layers')
      .values(row)
      .onConflict(conflict => conflict.columns(['tenant_id', 'layer']).doUpdateSet(row))
      .execute()
    await requireRoom(trx, tenantId)
    const details = { nodes: nodes.length, edges: edges.length, replaces }
    await noteChange(trx, { tenantId, layer, verb: 'import', details }, by, now)
    const [imported] = await listLayers(trx, tenantId, layer)
    return imported as ImportedLayer
  })

/** Deletes a layer with its nodes and edges. Throws `not_found`. */
export const deleteLayer = (
  ledger: Pick<Ledger, 'sealed'>,
  { tenantId, layer }: { tenantId: string; layer: string },
  by: Actor,
  now: number,
): Promise<void> =>
  ledger.sealed.write(async trx => {
    const { numDeletedRows } = await trx
      .deleteFrom('graph_layers')
      .where('tenant_id', '=', tenantId)
      .where('layer', '=', layer)
      .executeTakeFirst()
    if (Number(numDeletedRows) === 0) throw createUnknownError('layer', layer)
    await deleteRows(trx, tenantId, layer)
    await noteChange(trx, { tenantId, layer, verb: 'delete', details: {} }, by, now)
  })

export const listLayers = async (
  db: Reading,
  tenantId: string,
  layer?: string,
): Promise<ImportedLayer[]> => {
  let query = db.selectFrom('graph_layers').selectAll().where('tenant_id', '=', tenantId)
  if (layer !== undefined) query = query.where('layer', '=', layer)
  const rows = await query.orderBy('layer').execute()
  return Promise.all(rows.map(row => describeLayer(db, graphLayerTable.read(row))))
}

/** The imported facts of a tenant, read in pages with a pause after each. */
export const readLayers = async (
  db: Reading,
  tenantId: string,
  pause: () => Promise<void>,
): Promise<GraphFacts> => {
  const facts: GraphFacts = { nodes: [], edges: [] }
  for (let after: string | undefined = ''; after !== undefined; ) {
    await pause()
    const rows = await db
      .selectFrom('graph_nodes')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('id', '>', after)
      .orderBy('id')
      .limit(PAGE)
      .execute()
    facts.nodes.push(...rows.map(graphNodeTable.read))
    after = rows.length === PAGE ? rows.at(-1)?.id : undefined
  }
  for (let after: string | undefined = ''; after !== undefined; ) {
    await pause()
    const rows = await db
      .selectFrom('graph_edges')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('edge_key', '>', after)
      .orderBy('edge_key')
      .limit(PAGE)
      .execute()
    facts.edges.push(...rows.map(readEdge))
    after = rows.length === PAGE ? rows.at(-1)?.edge_key : undefined
  }
  return facts
}

const readEdge = (row: RowOf<typeof graphEdgeTable>): GraphEdge => {
  const { source, relation, target, layer, weightPpm } = graphEdgeTable.read(row)
  return { source, relation, target, layer, weight: weightPpm / PPM }
}

const putNodes = async (
  trx: Trx,
  tenantId: string,
  layer: string,
  nodes: readonly GraphNode[],
): Promise<void> => {
  const ids = nodes.map(({ id }) => id)
  const other = await trx
    .selectFrom('graph_nodes')
    .select(['id', 'layer'])
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', ids)
    .where('layer', '!=', layer)
    .executeTakeFirst()
  if (other !== undefined) throw createForeignLayerError(`node ${other.id}`, other.layer)
  const rows = nodes.map(node => graphNodeTable.write({ ...node, tenantId, layer }))
  await trx
    .insertInto('graph_nodes')
    .values(rows)
    .onConflict(conflict =>
      conflict.columns(['tenant_id', 'id']).doUpdateSet(row => ({
        name: row.ref('excluded.name'),
        text: row.ref('excluded.text'),
        attributes_json: row.ref('excluded.attributes_json'),
      })),
    )
    .execute()
}

const putEdges = async (
  trx: Trx,
  tenantId: string,
  layer: string,
  edges: readonly GraphEdge[],
): Promise<void> => {
  const other = await trx
    .selectFrom('graph_edges')
    .select(['edge_key', 'layer'])
    .where('tenant_id', '=', tenantId)
    .where('edge_key', 'in', edges.map(edgeKey))
    .where('layer', '!=', layer)
    .executeTakeFirst()
  if (other !== undefined) throw createForeignLayerError(`edge ${other.edge_key}`, other.layer)
  const rows = edges.map(edge =>
    graphEdgeTable.write({
      ...edge,
      tenantId,
      layer,
      edgeKey: edgeKey(edge),
      weightPpm: Math.max(1, Math.round(edge.weight * PPM)),
    }),
  )
  await trx
    .insertInto('graph_edges')
    .values(rows)
    .onConflict(conflict =>
      conflict
        .columns(['tenant_id', 'edge_key'])
        .doUpdateSet(row => ({ weight_ppm: row.ref('excluded.weight_ppm') })),
    )
    .execute()
}

const createForeignLayerError = (what: string, layer: string): ShoalError =>
  new ShoalError('conflict', `${what} belongs to the imported layer ${layer}`)

const requireRoom = async (trx: Trx, tenantId: string): Promise<void> => {
  const counted = {
    nodes: trx.selectFrom('graph_nodes').where('tenant_id', '=', tenantId),
    edges: trx.selectFrom('graph_edges').where('tenant_id', '=', tenantId),
    layers: trx.selectFrom('graph_layers').where('tenant_id', '=', tenantId),
  }
  for (const what of ['nodes', 'edges', 'layers'] as const) {
    const rows = await countMatchingRows(counted[what] as (typeof counted)['nodes'])
    const most = LAYER_LIMITS[what]
    if (rows > most)
      throw new ShoalError(
        'conflict',
        `the tenant would have ${rows} imported ${what}; at most ${most} are kept`,
      )
  }
}

const describeLayer = async (db: Reading, stored: GraphLayer): Promise<ImportedLayer> => {
  const rowsIn = (table: 'graph_nodes' | 'graph_edges') =>
    countMatchingRows(
      db
        .selectFrom(table)
        .where('tenant_id', '=', stored.tenantId)
        .where('layer', '=', stored.layer),
    )
  const [nodes, edges] = [await rowsIn('graph_nodes'), await rowsIn('graph_edges')]
  return { ...stored, nodes, edges }
}

const deleteRows = async (trx: Trx, tenantId: string, layer: string): Promise<void> => {
  for (const table of ['graph_nodes', 'graph_edges'] as const)
    await trx
      .deleteFrom(table)
      .where('tenant_id', '=', tenantId)
      .where('layer', '=', layer)
      .execute()
}

const noteChange = async (
  trx: Trx,
  change: { tenantId: string; layer: string; verb: string; details: Record<string, unknown> },
  by: Actor,
  now: number,
): Promise<void> => {
  const { tenantId: tenant, layer, verb, details } = change
  const about = { tenant, action: `graph.${verb}`, subject: layer }
  await appendAudit(trx, { ...by, at: now, ...about, outcome: 'done', details })
  await bumpRevision(trx, 'graph_layers')
}
