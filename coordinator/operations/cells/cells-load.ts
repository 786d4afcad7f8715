import { defineOperation } from '../operation.ts'
import { commandModel, ModelAnswer, ModelInput } from './model-command.ts'

export default defineOperation({
  id: 'cells-load',
  description: 'Load a model on a cell. It is unloaded after a period without use.',
  method: 'POST',
  path: '/v1/cells/{cell_id}/models/{model}/load',
  access: 'operator',
  effect: 'write',
  input: ModelInput,
  output: ModelAnswer,
  run: (input, context) => commandModel('load', input, context),
})
