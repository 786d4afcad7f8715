import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { knownRoles, mayCall } from '../../agents/roles.ts'
import { bounded } from '../bounded-json.ts'
import { requireAccess } from '../call.ts'
import { callerOf } from '../gates/gate-view.ts'
import { defineOperation } from '../operation.ts'
import { Pending } from '../pending.ts'
import { SESSION_ID } from './session-view.ts'

const SKILL_TIMEOUT_SECONDS = 30

/** As much as the route of a skill takes. */
const MAX_INPUT_BYTES = 200 * 1024

export default defineOperation({
  id: 'sessions-execute',
  description:
    'Call a skill in a session, the fifth step, any number of times: what the roles work with, with the rights of the key.',
  method: 'POST',
  path: '/v1/sessions/{session_id}/execute',
  access: 'key',
  effect: 'gated',
  timeoutSeconds: 300,
  input: z.strictObject({
    ...SESSION_ID,
    skill: z.string().max(64).describe('Id of the skill.'),
    input: bounded(z.record(z.string().max(128), z.json()), MAX_INPUT_BYTES)
      .default({})
      .describe('What the skill takes.'),
  }),
  output: z.object({ session_id: z.string(), skill: z.string(), output: z.json() }),
  examples: [{ skill: 'policy-check', input: { action_type: 'release.major' } }],
  run: async ({ session_id, skill: id, input }, context) => {
    const { agents, skills, key, signal } = context
    const caller = callerOf(context)
    const { roles } = await agents.sessions.require(session_id, caller, 'execute')
    const skill = skills.find(each => each.id === id)
    if (skill === undefined) throw new ShoalError('not_found', `no skill ${id}`, { param: 'skill' })
    if (!mayCall(knownRoles(roles), id))
      throw new ShoalError('forbidden', `${id} is no skill of the session: ${roles.join(', ')}`, {
        param: 'skill',
      })
    requireAccess(skill, key)
    await agents.sessions.execute(session_id, caller, id)
    const timeout = AbortSignal.timeout((skill.timeoutSeconds ?? SKILL_TIMEOUT_SECONDS) * 1000)
    const own = { ...context, signal: AbortSignal.any([signal, timeout]) }
    const answer = await context.callSkill(id, input, own)
    if (answer instanceof Pending) return answer
    return { session_id, skill: id, output: answer as z.core.util.JSONType }
  },
})
