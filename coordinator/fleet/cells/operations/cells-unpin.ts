import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { ControlViews } from '../../control/open.ts'
import type { EnrolmentViews } from '../../enrolment/open.ts'
import type { FleetViews } from '../open.ts'
import { commandModel, ModelAnswer, ModelInput } from './model-command.ts'

export default defineOperation({
  id: 'cells-unpin',
  description: 'Unpin a model on a cell, so that it can be unloaded again.',
  method: 'POST',
  path: '/v1/cells/{cell_id}/models/{model}/unpin',
  access: 'operator',
  effect: 'write',
  input: ModelInput,
  answers: { kind: 'model_command' },
  output: ModelAnswer,
  run: (input, context: Context & ControlViews & EnrolmentViews & FleetViews) =>
    commandModel('unpin', input, context),
})
