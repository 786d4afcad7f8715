import * as z from 'zod'
import type { Context } from '../../declaration/context.ts'
import { findCursorRow } from '../../declaration/fields.ts'
import { defineOperation } from '../../declaration/operation.ts'
import { EXPORT_TYPES, formatRows } from '../export.ts'
import type { AuditViews } from '../open.ts'
import { AUDIT_FILTER, filterOf } from './audit-view.ts'

export default defineOperation({
  id: 'audit-export',
  description:
    'Export rows of the audit chain as CSV or JSON Lines, oldest first, one page per call.',
  method: 'GET',
  path: '/v1/audit/export',
  access: 'operator',
  effect: 'read',
  timeoutSeconds: 60,
  input: z.strictObject({
    ...AUDIT_FILTER,
    as: z
      .enum(['csv', 'jsonl'])
      .default('jsonl')
      .describe('Output format: CSV for spreadsheets, or JSON Lines.'),
    after: z.int().min(0).default(0).describe('Number of the last row of the previous page.'),
    limit: z
      .int()
      .min(1)
      .max(10_000)
      .default(10_000)
      .describe('Rows per page; the command line fetches all pages.'),
  }),
  output: z.object({
    content_type: z.string(),
    text: z.string(),
    /** Number of the last row, for `after`; null at the end. */
    next: z.int().nullable(),
  }),
  text: {
    body: 'text',
    type: 'content_type',
    types: ['text/csv', 'application/jsonl'],
    next: { field: 'next', input: 'after' },
  },
  run: async (
    { as: format, after, limit, ...filter },
    { audit, tenantId = '', now }: Context & AuditViews,
  ) => {
    const asked = { ...filterOf(filter, now()), after, limit, order: 'oldest' as const }
    const rows = await audit.query(asked, { tenantId })
    return {
      content_type: EXPORT_TYPES[format],
      text: formatRows(rows, format, { isFirst: after === 0 }),
      next: findCursorRow(rows, limit)?.seq ?? null,
    }
  },
})
