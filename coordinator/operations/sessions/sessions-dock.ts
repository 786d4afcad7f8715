import { defineOperation } from '../operation.ts'
import { DockInput, dockAs } from './docking-input.ts'
import { SessionView } from './session-view.ts'

export default defineOperation({
  id: 'sessions-dock',
  description: 'Dock an agent: the first of the seven steps, the same as the skill sads-dock.',
  method: 'POST',
  path: '/v1/sessions',
  access: 'key',
  effect: 'write',
  input: DockInput,
  output: SessionView,
  examples: [{ agent_id: 'fixer', role: 'coding' }],
  run: dockAs,
})
