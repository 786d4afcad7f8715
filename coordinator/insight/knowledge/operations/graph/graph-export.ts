import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { NextCursor, pageLimit } from '../../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { EXPORT_TYPES, exportPage } from '../../export-graph.ts'
import type { KnowledgeViews } from '../../open.ts'
import { graphFor, LayerId } from './graph-view.ts'

export default defineOperation({
  id: 'graph-export',
  description:
    'Export nodes or edges of the knowledge graph as JSON or CSV, one page per call. An imported layer can be imported again from it.',
  method: 'GET',
  path: '/v1/graph/export',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    what: z.enum(['nodes', 'edges']).default('nodes'),
    layer: LayerId.exactOptional().describe('Only this layer.'),
    format: z.enum(['json', 'csv']).default('json').describe('Pages of CSV can be joined.'),
    after: z.string().max(600).exactOptional().describe('Cursor: `next` of the previous page.'),
    limit: pageLimit(5000, 1000),
  }),
  output: z.object({ content_type: z.string(), text: z.string(), next: NextCursor }),
  text: {
    body: 'text',
    type: 'content_type',
    types: ['application/json', 'text/csv'],
    next: { field: 'next', input: 'after' },
  },
  examples: [{ what: 'edges', layer: 'governance', format: 'csv' }],
  run: async ({ format, ...page }, context: Context & KnowledgeViews) => {
    const { graph } = await graphFor(context)
    return { content_type: EXPORT_TYPES[format], ...exportPage(graph, format, page) }
  },
})
