import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { EnrolmentViews } from '../../enrolment/open.ts'
import { CellRef } from '../cell-field.ts'
import { CellLabels } from './cell-view.ts'

const MAX_LABELS = 64

export default defineOperation({
  id: 'cells-label',
  description: 'Replace the labels of a cell: free text for people and filters.',
  method: 'PUT',
  path: '/v1/cells/{cell_id}/labels',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  input: z.strictObject({
    cell_id: CellRef,
    labels: CellLabels.refine(labels => Object.keys(labels).length <= MAX_LABELS, {
      error: `a cell has at most ${MAX_LABELS} labels`,
    }).meta({ maxProperties: MAX_LABELS }),
  }),
  output: z.object({ id: z.string(), labels: CellLabels }),
  run: async ({ cell_id, labels }, { settings, actor }: Context & EnrolmentViews) => ({
    id: cell_id,
    labels: (await settings.setLabels(cell_id, labels, actor)).labels,
  }),
})
