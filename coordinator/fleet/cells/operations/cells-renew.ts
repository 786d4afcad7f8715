import * as z from 'zod'
import { createUnknownError } from '../../../../shared/reference-errors.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { EnrolmentViews } from '../../enrolment/open.ts'
import type { IdentityViews } from '../../enrolment/open-identity.ts'
import { CellRef } from '../cell-field.ts'

export default defineOperation({
  id: 'cells-renew',
  description: 'Tell a connected cell to replace its credential now.',
  method: 'POST',
  path: '/v1/cells/{cell_id}/renew',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  input: z.strictObject({ cell_id: CellRef }),
  output: z.object({ id: z.string() }),
  run: async (
    { cell_id },
    { cells, identity, actor }: Context & EnrolmentViews & IdentityViews,
  ) => {
    if ((await cells.get(cell_id)) === undefined) throw createUnknownError('cell', cell_id)
    await identity.askToRenew(cell_id, actor)
    return { id: cell_id }
  },
})
