import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { ControlViews } from '../../control/open.ts'
import type { EnrolmentViews } from '../../enrolment/open.ts'
import type { FleetViews } from '../open.ts'
import { commandModel, MODEL_SUCCESS, ModelAnswer, ModelInput } from './model-command.ts'

export default defineOperation({
  id: 'cells-pin',
  description: 'Load a model on a cell and keep it loaded, also across restarts of the cell.',
  method: 'POST',
  path: '/v1/cells/{cell_id}/models/{model}/pin',
  access: 'operator',
  effect: 'write',
  input: ModelInput,
  answers: { kind: 'model_load' },
  output: ModelAnswer,
  success: MODEL_SUCCESS,
  run: (input, context: Context & ControlViews & EnrolmentViews & FleetViews) =>
    commandModel('pin', input, context),
})
