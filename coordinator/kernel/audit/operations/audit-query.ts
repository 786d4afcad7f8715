import * as z from 'zod'
import type { Context } from '../../declaration/context.ts'
import { definePageFields, findCursorRow } from '../../declaration/fields.ts'
import { defineOperation } from '../../declaration/operation.ts'
import type { AuditViews } from '../open.ts'
import { AUDIT_FILTER, AuditView, auditViewOf, filterOf } from './audit-view.ts'

export default defineOperation({
  id: 'audit-query',
  description: 'List rows of the audit chain, newest first: who did what, and when.',
  method: 'GET',
  path: '/v1/audit',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    ...AUDIT_FILTER,
    ...definePageFields(1000, 100),
  }),
  output: z.object({ rows: z.array(AuditView), next: z.int().nullable() }),
  run: async (
    { before, limit, ...filter },
    { audit, tenantId = '', now }: Context & AuditViews,
  ) => {
    const asked = {
      ...filterOf(filter, now()),
      order: 'newest' as const,
      limit,
      ...(before === undefined ? {} : { after: before }),
    }
    const rows = await audit.query(asked, { tenantId })
    return {
      rows: rows.map(auditViewOf),
      next: findCursorRow(rows, limit)?.seq ?? null,
    }
  },
})
