import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { EnrolmentViews } from '../../enrolment/open.ts'
import { CellRef } from '../cell-field.ts'

export default defineOperation({
  id: 'cells-revoke',
  description: 'Revoke a cell permanently: void its credential and close its connections.',
  method: 'DELETE',
  path: '/v1/cells/{cell_id}',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  input: z.strictObject({ cell_id: CellRef }),
  output: z.object({ id: z.string(), revoked_at: z.iso.datetime() }),
  run: async ({ cell_id }, { cells, actor, now }: Context & EnrolmentViews) => {
    const { id, revokedAt } = await cells.revoke(cell_id, actor)
    return { id, revoked_at: new Date(revokedAt ?? now()).toISOString() }
  },
})
