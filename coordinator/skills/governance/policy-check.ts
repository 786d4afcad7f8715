import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import {
  POLICY_QUESTION,
  PolicyAnswer,
  policyAnswer,
} from '../../operations/policy/policy-question.ts'
import { defineSkill } from '../skill.ts'

export default defineSkill({
  id: 'policy-check',
  name: 'Policy check',
  description:
    'Whether the caller may do something: allowed, denied, or only after people have approved it at a gate.',
  tags: ['governance', 'policy'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject(POLICY_QUESTION),
  output: PolicyAnswer,
  examples: [{ action_type: 'release.major' }],
  run: ({ action_type, actor_id, context }, { policies, key }) => {
    if (action_type === undefined)
      throw new ShoalError('invalid_request', 'action_type is missing', { param: 'action_type' })
    const asker = { kind: key?.kind ?? ('autonomous' as const), roles: key?.roles ?? [] }
    return policyAnswer({ action_type, actor_id, context }, policies.current(), asker)
  },
})
