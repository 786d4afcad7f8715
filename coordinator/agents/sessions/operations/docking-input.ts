import * as z from 'zod'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import { DOCK_DEFAULTS } from '../docking.ts'
import type { AgentViews } from '../open.ts'
import { AGENT_TYPES, VARIANTS } from '../session.ts'
import { label, sessionViewOf } from './session-view.ts'

/** Input of docking, both as a skill and as an operation. */
export const DockInput = z.strictObject({
  agent_id: label().describe('Name of the agent, a label besides the key.'),
  agent_type: z
    .enum(AGENT_TYPES)
    .default(DOCK_DEFAULTS.agentType)
    .describe('Declared type of the agent, a label besides the kind of the key.'),
  role: z
    .string()
    .max(200)
    .default(DOCK_DEFAULTS.role)
    .describe('Role of the agent; comma-separated roles for variant v1_multi_role.'),
  variant: z
    .enum(VARIANTS)
    .default(DOCK_DEFAULTS.variant)
    .describe(
      'How the session works: alone, with several roles, several side by side, or supervised.',
    ),
  profile_id: Id.exactOptional().describe(
    'Profile whose values replace the inputs that are left at their defaults.',
  ),
  supervisor: Id.exactOptional().describe(
    'Session of the supervisor who confirms each check; only for v3_supervised.',
  ),
})

/** Docks, and shows the session. */
export const dockAs = async (input: z.output<typeof DockInput>, context: Context & AgentViews) => {
  const session = await context.agents.sessions.dock(
    {
      agentId: input.agent_id,
      agentType: input.agent_type,
      role: input.role,
      variant: input.variant,
      profileId: input.profile_id,
      supervisorId: input.supervisor,
    },
    callerOf(context),
  )
  return sessionViewOf(session, context.now())
}
