import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { commandModel, MODEL_SUCCESS, ModelAnswer, ModelInput } from './model-command.ts'

export default defineOperation({
  id: 'cells-load',
  description: 'Load a model on a cell. It is unloaded after a period without use.',
  method: 'POST',
  path: '/v1/cells/{cell_id}/models/{model}/load',
  access: 'operator',
  effect: 'write',
  input: ModelInput,
  output: ModelAnswer,
  success: MODEL_SUCCESS,
  run: (input, context) => commandModel('load', input, context),
})
