import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { EnrolmentViews } from '../../enrolment/open.ts'
import { CellRef } from '../cell-field.ts'

export default defineOperation({
  id: 'cells-resume',
  description: 'Resume sending requests to a drained cell.',
  method: 'POST',
  path: '/v1/cells/{cell_id}/resume',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  input: z.strictObject({ cell_id: CellRef }),
  output: z.object({ id: z.string(), drained: z.boolean() }),
  run: async ({ cell_id }, { settings, actor }: Context & EnrolmentViews) => {
    const { drainedAt } = await settings.setDrained(cell_id, false, actor)
    return { id: cell_id, drained: drainedAt !== undefined }
  },
})
