import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { DockInput, dockAs } from './docking-input.ts'
import { SessionView } from './session-view.ts'

export default defineSkill({
  id: 'sads-dock',
  group: 'agents',
  name: 'Dock an agent',
  description:
    'Step 1 of 7: dock an agent and open its session. The steps are dock, brief, claim, check, execute, evidence, undock.',
  tags: ['agents', 'sessions'],
  access: 'key',
  effect: 'write',
  input: DockInput,
  output: SessionView,
  examples: [
    { agent_id: 'fixer', role: 'coding' },
    { agent_id: 'pipeline-7', profile_id: 'ci' },
  ],
  run: dockAs,
})
