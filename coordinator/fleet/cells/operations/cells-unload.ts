import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { commandModel, ModelAnswer, ModelInput } from './model-command.ts'

export default defineOperation({
  id: 'cells-unload',
  description: 'Unload an idle model from a cell. Its next request loads it again.',
  method: 'POST',
  path: '/v1/cells/{cell_id}/models/{model}/unload',
  access: 'operator',
  effect: 'write',
  input: ModelInput,
  output: ModelAnswer,
  run: (input, context) => commandModel('unload', input, context),
})
