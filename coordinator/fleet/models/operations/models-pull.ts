import { isDownloaded } from '../../../../shared/catalogue.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { lookUntil } from '../../../../shared/look-until.ts'
import { NOT_TAKEN_UP } from '../../../../shared/not-taken-up.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { UpstreamViews } from '../../../kernel/upstreams/open.ts'
import { CellRef } from '../../cells/cell-field.ts'
import type { FleetViews } from '../../cells/open.ts'
import { commandModel } from '../../cells/operations/model-command.ts'
import type { ControlViews } from '../../control/open.ts'
import type { EnrolmentViews } from '../../enrolment/open.ts'
import { requireEgress } from '../hub.ts'
import type { ModelViews } from '../open.ts'
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
    cell_id: CellRef.exactOptional().describe(
      'Only this cell; all that have the model by default.',
    ),
  }),
  answers: { kind: 'model_pull' },
  output: ModelDetails,
  run: async (
    { model, cell_id },
    context: Context & ControlViews & EnrolmentViews & FleetViews & ModelViews & UpstreamViews,
  ) => {
    // another coordinator may have added it a moment ago
    if (!context.catalogue.some(({ id }) => id === model)) await context.models.look()
    if (isDownloaded(findEntry(context, model))) requireEgress(context.upstreams)
    const targets = await findTargets(context, model, cell_id)
    const sent = targets.map(id => commandModel('pull', { cell_id: id, model }, context))
    const outcomes = await Promise.allSettled(sent)
    const failed = outcomes.find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected' && outcomes.every(({ status }) => status === 'rejected'))
      throw failed.reason
    const details = describeModel(context, model)
    return { ...details, cells: details.cells.filter(each => targets.includes(each.cell_id)) }
  },
})

/** Time that cells get to take up a model that was added a moment ago. */
const TAKE_UP_MS = 5000
const LOOK_MS = 100

/** @throws ShoalError cell_unavailable when no connected cell has the model */
const findTargets = async (
  context: Context & FleetViews & ModelViews,
  model: string,
  cellId: string | undefined,
): Promise<string[]> => {
  if (cellId !== undefined) return [cellId]
  const look = async () => {
    const { cells } = describeModel(context, model)
    return cells.some(({ reason }) => reason === NOT_TAKEN_UP) ? undefined : cells
  }
  const { signal, runtime } = context
  const limits = { everyMs: LOOK_MS, timeoutMs: TAKE_UP_MS, signal, runtime }
  const cells = (await lookUntil(look, limits)) ?? describeModel(context, model).cells
  const able = cells.filter(({ state }) => state !== null).map(({ cell_id }) => cell_id)
  if (able.length === 0) throw createNowhereError(model, cells)
  return able
}

const MAX_NAMED = 3

const createNowhereError = (
  model: string,
  cells: readonly { cell_id: string; reason: string | null }[],
): ShoalError => {
  const reasons = cells.slice(0, MAX_NAMED).map(({ cell_id, reason }) => `${cell_id}: ${reason}`)
  const why = reasons.length === 0 ? '' : ` (${reasons.join('; ')})`
  return new ShoalError('cell_unavailable', `no connected cell has ${model}${why}`)
}
