import type { GateViews } from '../../../access/gates/open.ts'
import type { CallViews } from '../../../calls/invoke/call-views.ts'
import type { MonitorViews } from '../../../fleet/alerts/open-monitor.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { ModelViews } from '../../../fleet/models/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { AgentViews } from '../open.ts'
import { createBriefing, rolesFor } from './briefing.ts'
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
  run: async (
    { role },
    context: Context & AgentViews & CallViews & FleetViews & GateViews & ModelViews & MonitorViews,
  ) => {
    const { roles, lastSkill } = await rolesFor(role, context)
    return createBriefing(roles, context, lastSkill)
  },
})
