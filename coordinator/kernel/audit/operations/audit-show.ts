import * as z from 'zod'
import { createUnknownError } from '../../../../shared/reference-errors.ts'
import type { Context } from '../../declaration/context.ts'
import { defineOperation } from '../../declaration/operation.ts'
import type { AuditViews } from '../open.ts'
import { AuditView, auditViewOf } from './audit-view.ts'

export default defineOperation({
  id: 'audit-show',
  description: 'Show one row of the audit chain by its number.',
  method: 'GET',
  path: '/v1/audit/{seq}',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({ seq: z.coerce.number().int().positive().describe('Number of the row.') }),
  output: AuditView,
  run: async ({ seq }, { audit, tenantId = '' }: Context & AuditViews) => {
    const row = await audit.row(seq, { tenantId })
    // a foreign row, a purged row and one that never existed are indistinguishable to the caller
    if (row === undefined) throw createUnknownError('audit row', seq)
    return auditViewOf(row)
  },
})
