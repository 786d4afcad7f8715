import { isDownloaded } from '../../../shared/catalogue.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { requireEgress } from '../../catalogue/hub.ts'
import { commandModel } from '../cells/model-command.ts'
import type { Context } from '../context.ts'
import { Id } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { describeModel, findEntry, ModelDetails, ModelPath } from './model-view.ts'

export default defineOperation({
  id: 'models-pull',
  description:
    'Download the weights of a model to the cells that have it in their catalogue, without loading it.',
  method: 'POST',
  path: '/v1/catalogue/{model}/pull',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  openWorld: true,
  input: ModelPath.extend({
    cell_id: Id.exactOptional().describe('Only this cell; all that have the model by default.'),
  }),
  output: ModelDetails,
  run: async ({ model, cell_id }, context) => {
    if (isDownloaded(findEntry(context, model))) requireEgress(context.upstreams)
    const targets = findTargets(context, model, cell_id)
    const sent = targets.map(id => commandModel('pull', { cell_id: id, model }, context))
    const outcomes = await Promise.allSettled(sent)
    const failed = outcomes.find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected' && outcomes.every(({ status }) => status === 'rejected'))
      throw failed.reason
    const details = describeModel(context, model)
    return { ...details, cells: details.cells.filter(each => targets.includes(each.cell_id)) }
  },
})

/** @throws ShoalError cell_unavailable when no connected cell has the model */
const findTargets = (context: Context, model: string, cellId: string | undefined): string[] => {
  if (cellId !== undefined) return [cellId]
  const { cells } = describeModel(context, model)
  const able = cells.filter(({ state }) => state !== null).map(({ cell_id }) => cell_id)
  if (able.length > 0) return able
  const reasons = cells.map(({ cell_id, reason }) => `${cell_id}: ${reason}`).slice(0, 3)
  throw new ShoalError(
    'cell_unavailable',
    `no connected cell has ${model}${reasons.length > 0 ? ` (${reasons.join('; ')})` : ''}`,
  )
}
