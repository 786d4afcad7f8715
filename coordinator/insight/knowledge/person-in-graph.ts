import type { Kysely } from 'kysely'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { nodeId } from './graph-model.ts'

type Reading = Pick<Kysely<LedgerTables>, 'selectFrom'>

/** Imported statements of a tenant about a person: the node `person:<id>`, and the edges at it. */
export interface PersonStatement {
  layer: string
  /** Id of the node, or source, relation and target of an edge. */
  statement: string
  /** Name of the node; undefined for an edge. */
  name?: string
}

export const readPersonStatements = async (
  db: Reading,
  tenantId: string,
  personId: string,
): Promise<PersonStatement[]> => {
  const node = nodeId('person', personId)
  const nodes = await db
    .selectFrom('graph_nodes')
    .select(['id', 'layer', 'name'])
    .where('tenant_id', '=', tenantId)
    .where('id', '=', node)
    .execute()
  const edges = await db
    .selectFrom('graph_edges')
    .select(['edge_key', 'layer'])
    .where('tenant_id', '=', tenantId)
    .where(edge => edge.or([edge('source', '=', node), edge('target', '=', node)]))
    .execute()
  return [
    ...nodes.map(({ id, layer, name }) => ({ layer, statement: id, name })),
    ...edges.map(({ edge_key, layer }) => ({ layer, statement: edge_key })),
  ]
}

/** Deletes the node of a person with its edges and what was learned of them; returns their number. */
export const erasePersonStatements = async (
  trx: SealedTrx,
  tenantId: string,
  personId: string,
): Promise<number> => {
  const statements = await readPersonStatements(trx, tenantId, personId)
  const node = nodeId('person', personId)
  await trx
    .deleteFrom('graph_nodes')
    .where('tenant_id', '=', tenantId)
    .where('id', '=', node)
    .execute()
  await trx
    .deleteFrom('graph_edges')
    .where('tenant_id', '=', tenantId)
    .where(edge => edge.or([edge('source', '=', node), edge('target', '=', node)]))
    .execute()
  const learned = await trx
    .selectFrom('graph_learning')
    .select('edge_key')
    .where('tenant_id', '=', tenantId)
    .execute()
  for (const { edge_key } of learned)
    if (isAtNode(edge_key, node))
      await trx
        .deleteFrom('graph_learning')
        .where('tenant_id', '=', tenantId)
        .where('edge_key', '=', edge_key)
        .execute()
  await bumpRevision(trx, 'graph_layers')
  await bumpRevision(trx, 'graph_learning')
  return statements.length
}

/** True for the key of an edge that begins or ends at the node. */
export const isAtNode = (edgeKey: string, node: string): boolean =>
  edgeKey.startsWith(`${node} `) || edgeKey.endsWith(` ${node}`)
