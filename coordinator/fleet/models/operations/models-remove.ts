import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { FleetViews } from '../../cells/open.ts'
import type { ModelViews } from '../open.ts'
import { describeModel, ModelPath } from './model-view.ts'

export default defineOperation({
  id: 'models-remove',
  description:
    'Remove a model or alias that was added. Cells finish the running requests, then end its engine. Downloaded weights stay until another download needs the room.',
  method: 'DELETE',
  path: '/v1/catalogue/{model}',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  input: ModelPath,
  output: z.object({
    id: z.string(),
    removed: z.literal(true),
    cells_in_use: z
      .array(z.string())
      .describe('Cells that still answered requests with its weights.'),
  }),
  run: async ({ model }, context: Context & FleetViews & ModelViews) => {
    // this coordinator may not know the model yet: whether it exists is decided in the transaction
    const isKnown = context.catalogue.some(({ id }) => id === model)
    const cells = isKnown ? describeModel(context, model).cells : []
    await context.models.change({ act: 'remove', id: model }, context.actor)
    const inUse = cells.filter(({ requests }) => requests > 0)
    return { id: model, removed: true as const, cells_in_use: inUse.map(({ cell_id }) => cell_id) }
  },
})
