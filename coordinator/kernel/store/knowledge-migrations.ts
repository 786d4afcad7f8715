import type { Kysely } from 'kysely'

/* Imported layers of the knowledge graph, and what the graph has learned. */

export const graphLayerTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('graph_layers')
    .addColumn('tenant_id', 'text', column => column.notNull())
    .addColumn('layer', 'text', column => column.notNull())
    .addColumn('changed_at', 'bigint', column => column.notNull())
    .addColumn('changed_by', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('graph_layers_key', ['tenant_id', 'layer'])
    .execute()
  await schema
    .createTable('graph_nodes')
    .addColumn('tenant_id', 'text', column => column.notNull())
    .addColumn('id', 'text', column => column.notNull())
    .addColumn('layer', 'text', column => column.notNull())
    .addColumn('kind', 'text', column => column.notNull())
    .addColumn('name', 'text', column => column.notNull())
    .addColumn('text', 'text', column => column.notNull())
    .addColumn('attributes_json', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('graph_nodes_key', ['tenant_id', 'id'])
    .execute()
  await schema
    .createTable('graph_edges')
    .addColumn('tenant_id', 'text', column => column.notNull())
    .addColumn('edge_key', 'text', column => column.notNull())
    .addColumn('layer', 'text', column => column.notNull())
    .addColumn('source', 'text', column => column.notNull())
    .addColumn('relation', 'text', column => column.notNull())
    .addColumn('target', 'text', column => column.notNull())
    .addColumn('weight_ppm', 'integer', column => column.notNull())
    .addPrimaryKeyConstraint('graph_edges_key', ['tenant_id', 'edge_key'])
    .execute()
}

export const graphLearningTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('graph_learning')
    .addColumn('tenant_id', 'text', column => column.notNull())
    .addColumn('edge_key', 'text', column => column.notNull())
    .addColumn('strength_ppm', 'integer', column => column.notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('graph_learning_key', ['tenant_id', 'edge_key'])
    .execute()
  await schema
    .createTable('graph_learning_settings')
    .addColumn('tenant_id', 'text', column => column.primaryKey().notNull())
    .addColumn('enabled', 'integer', column => column.notNull())
    .addColumn('rate_percent', 'integer', column => column.notNull())
    .addColumn('half_life_hours', 'integer', column => column.notNull())
    .execute()
}
