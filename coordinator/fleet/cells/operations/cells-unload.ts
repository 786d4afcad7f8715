import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { ControlViews } from '../../control/open.ts'
import type { EnrolmentViews } from '../../enrolment/open.ts'
import type { FleetViews } from '../open.ts'
import { commandModel, ModelAnswer, ModelInput } from './model-command.ts'

export default defineOperation({
  id: 'cells-unload',
  description: 'Unload an idle model from a cell. Its next request loads it again.',
  method: 'POST',
  path: '/v1/cells/{cell_id}/models/{model}/unload',
  access: 'operator',
  effect: 'write',
  input: ModelInput,
  answers: { kind: 'model_command' },
  output: ModelAnswer,
  run: (input, context: Context & ControlViews & EnrolmentViews & FleetViews) =>
    commandModel('unload', input, context),
})
