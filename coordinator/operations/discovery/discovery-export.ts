import * as z from 'zod'
import { EXPORT_FORMATS, EXPORT_TYPES, exportEntities } from '../../discovery/export-entities.ts'
import { defineOperation } from '../operation.ts'
import { ENTITY_FILTER } from './entity-view.ts'

export default defineOperation({
  id: 'discovery-export',
  description:
    'Export entities as JSON, CSV, JSON Lines, or a CycloneDX 1.6 inventory, one page per call.',
  method: 'GET',
  path: '/a2a/discovery/export',
  access: 'operator',
  effect: 'read',
  tool: false,
  timeoutSeconds: 60,
  cli: { group: 'discover', verb: 'export' },
  input: z.strictObject({
    ...ENTITY_FILTER,
    format: z
      .enum(EXPORT_FORMATS)
      .default('json')
      .describe('Output format; pages of CSV and JSON Lines can be joined.'),
    after: z.string().max(100).exactOptional().describe('Cursor: `next` of the previous page.'),
    limit: z.int().min(1).max(5000).default(1000).describe('Entities per page.'),
  }),
  output: z.object({
    content_type: z.string(),
    text: z.string(),
    next: z.string().nullable().describe('Cursor of the next page; null at the end.'),
  }),
  text: { body: 'text', type: 'content_type', next: { field: 'next', input: 'after' } },
  run: async ({ format, ...page }, { registry, now }) => {
    const { entities, next } = await registry.page(page)
    const isFirst = page.after === undefined
    const text = exportEntities(entities, format, { isFirst, at: now() })
    return { content_type: EXPORT_TYPES[format], text, next }
  },
})
