import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { briefingFor, rolesFor } from './briefing.ts'
import { Briefing, RoleInput } from './briefing-view.ts'

export default defineSkill({
  id: 'agent-briefing',
  group: 'governance',
  name: 'Agent briefing',
  description: 'Brief an agent: the rules, pending work, fleet state and allowed skills.',
  tags: ['governance', 'agents'],
  access: 'key',
  effect: 'read',
  input: RoleInput,
  output: Briefing,
  examples: [{ role: 'operations' }],
  run: async ({ role }, context) => {
    const { roles, lastSkill } = await rolesFor(role, context)
    return briefingFor(roles, context, lastSkill)
  },
})
