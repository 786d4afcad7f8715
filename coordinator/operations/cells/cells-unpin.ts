import { defineOperation } from '../operation.ts'
import { commandModel, ModelAnswer, ModelInput } from './model-command.ts'

export default defineOperation({
  id: 'cells-unpin',
  description: 'Let a pinned model of a cell be unloaded again.',
  method: 'POST',
  path: '/v1/cells/{cell_id}/models/{model}/unpin',
  access: 'operator',
  effect: 'write',
  input: ModelInput,
  output: ModelAnswer,
  run: (input, context) => commandModel('unpin', input, context),
})
