import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { EnrolmentViews } from '../../enrolment/open.ts'
import { CellRef } from '../cell-field.ts'

export default defineOperation({
  id: 'cells-release',
  description: 'Release a cell from quarantine, so that it can connect again. Stop its copy first.',
  method: 'POST',
  path: '/v1/cells/{cell_id}/release',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  input: z.strictObject({ cell_id: CellRef }),
  output: z.object({ id: z.string() }),
  run: async ({ cell_id }, { cells, actor }: Context & EnrolmentViews) => {
    const { id } = await cells.release(cell_id, actor)
    return { id }
  },
})
