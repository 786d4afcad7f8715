import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { DockInput, dockAs } from './docking-input.ts'
import { SessionView } from './session-view.ts'

export default defineOperation({
  id: 'sessions-dock',
  description: 'Step 1 of 7: dock an agent and open its session, as the skill sads-dock does.',
  method: 'POST',
  path: '/v1/sessions',
  access: 'key',
  effect: 'write',
  input: DockInput,
  output: SessionView,
  examples: [{ agent_id: 'fixer', role: 'coding' }],
  run: dockAs,
})
