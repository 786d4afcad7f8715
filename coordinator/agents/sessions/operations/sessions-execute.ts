import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import { createUnknownError } from '../../../../shared/reference-errors.ts'
import { judgeAnswer } from '../../../../shared/success-rule.ts'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import type { CallViews } from '../../../calls/invoke/call-views.ts'
import { limitJson } from '../../../kernel/declaration/bounded-json.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { bodyOf, type Outcome } from '../../../kernel/declaration/outcome.ts'
import type { AgentViews } from '../open.ts'
import { hasSkillAccess, listKnownRoles } from '../roles.ts'
import { SESSION_ID } from './session-view.ts'

/** Size limit of the input, equal to that of a skill's route. */
const MAX_INPUT_BYTES = 200 * 1024

export default defineOperation({
  id: 'sessions-execute',
  description:
    'Step 5 of 7: call a skill of the roles in a session, with the rights of the key. It can be repeated.',
  method: 'POST',
  path: '/v1/sessions/{session_id}/execute',
  access: 'key',
  effect: 'gated',
  timeoutSeconds: 300,
  input: z.strictObject({
    ...SESSION_ID,
    skill: Id.describe('Id of the skill.'),
    input: limitJson(z.record(z.string().max(128), z.json()), MAX_INPUT_BYTES)
      .default({})
      .describe('Input of the skill.'),
  }),
  output: z.object({
    session_id: z.string(),
    skill: z.string(),
    state: z
      .enum(['succeeded', 'open', 'failed', 'unknown'])
      .describe('Whether the output says that the skill has reached its goal.'),
    output: z.json(),
  }),
  success: {
    field: 'state',
    codes: { succeeded: 0, open: 75, failed: 69, unknown: 69 },
    unknown: ['unknown'],
  },
  examples: [{ skill: 'policy-check', input: { action_type: 'release.major' } }],
  /** The effects of the skill are planned and approved by the skill itself. */
  plan: async ({ session_id, skill, input }, context: Context & AgentViews & CallViews) => {
    const { roles } = await context.agents.sessions.require(
      session_id,
      callerOf(context),
      'execute',
    )
    if (!context.skills.some(({ id }) => id === skill))
      throw createUnknownError('skill', skill, { param: 'skill' })
    if (!hasSkillAccess(listKnownRoles(roles), skill))
      throw new ShoalError(
        'forbidden',
        `${skill} is not a skill of the session: ${roles.join(', ')}`,
        {
          param: 'skill',
        },
      )
    return { plan: { session_id, skill, input }, summary: `call ${skill} in session ${session_id}` }
  },
  run: async ({ session_id, skill, input }, context: Context & AgentViews & CallViews) => {
    const { sessions } = context.agents
    const outcome = await context.callSkill(skill, {
      input,
      isCounted: true,
      onAdmitted: async () => {
        await sessions.execute(session_id, callerOf(context), skill)
      },
    })
    if (outcome.kind === 'pending') return outcome.pending
    const output = bodyOf(outcome) as z.core.util.JSONType
    return { session_id, skill, state: stateOf(outcome, skill, context), output }
  },
})

/** A task that the skill began is open. */
const stateOf = (outcome: Outcome, skill: string, { skills }: CallViews) =>
  outcome.kind === 'task'
    ? 'open'
    : judgeAnswer(bodyOf(outcome), skills.find(({ id }) => id === skill)?.success).kind
