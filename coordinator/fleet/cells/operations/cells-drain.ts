import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { EnrolmentViews } from '../../enrolment/open.ts'
import { CellRef } from '../cell-field.ts'

export default defineOperation({
  id: 'cells-drain',
  description: 'Stop sending new requests to a cell. Running requests finish.',
  method: 'POST',
  path: '/v1/cells/{cell_id}/drain',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  input: z.strictObject({ cell_id: CellRef }),
  output: z.object({ id: z.string(), drained: z.boolean() }),
  run: async ({ cell_id }, { settings, actor }: Context & EnrolmentViews) => {
    const { drainedAt } = await settings.setDrained(cell_id, true, actor)
    return { id: cell_id, drained: drainedAt !== undefined }
  },
})
