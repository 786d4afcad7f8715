import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { ControlViews } from '../../control/open.ts'
import type { EnrolmentViews } from '../../enrolment/open.ts'
import type { FleetViews } from '../open.ts'
import { commandModel, MODEL_SUCCESS, ModelAnswer, ModelInput } from './model-command.ts'

export default defineOperation({
  id: 'cells-load',
  description: 'Load a model on a cell. It is unloaded after a period without use.',
  method: 'POST',
  path: '/v1/cells/{cell_id}/models/{model}/load',
  access: 'operator',
  effect: 'write',
  input: ModelInput,
  answers: { kind: 'model_load' },
  output: ModelAnswer,
  success: MODEL_SUCCESS,
  run: (input, context: Context & ControlViews & EnrolmentViews & FleetViews) =>
    commandModel('load', input, context),
})
