import * as z from 'zod'
import type { GateViews } from '../../../access/gates/open.ts'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import type { CallViews } from '../../../calls/invoke/call-views.ts'
import type { MonitorViews } from '../../../fleet/alerts/open-monitor.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { ModelViews } from '../../../fleet/models/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { AgentViews } from '../open.ts'
import { listKnownRoles } from '../roles.ts'
import { createBriefing } from './briefing.ts'
import { Briefing } from './briefing-view.ts'
import { SESSION_ID, SessionView, sessionViewOf } from './session-view.ts'

export default defineOperation({
  id: 'sessions-brief',
  description: 'Step 2 of 7: return the rules, pending work, fleet state and allowed skills.',
  method: 'POST',
  path: '/v1/sessions/{session_id}/brief',
  access: 'key',
  effect: 'write',
  input: z.strictObject(SESSION_ID),
  output: z.object({ session: SessionView, ...Briefing.shape }),
  run: async (
    { session_id },
    context: Context & AgentViews & CallViews & FleetViews & GateViews & ModelViews & MonitorViews,
  ) => {
    const { sessions } = context.agents
    const caller = callerOf(context)
    const { roles, lastSkill } = await sessions.require(session_id, caller, 'brief')
    const briefing = await createBriefing(listKnownRoles(roles), context, lastSkill)
    const after = await sessions.brief(session_id, caller)
    return { session: sessionViewOf(after, context.now()), ...briefing }
  },
})
