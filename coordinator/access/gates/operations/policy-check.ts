import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineNeededField } from '../../../kernel/declaration/needed-field.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { GateViews } from '../open.ts'
import {
  ACTION_TYPE,
  POLICY_QUESTION,
  PolicyAnswer,
  policyAnswer,
} from './policy/policy-question.ts'

export default defineSkill({
  id: 'policy-check',
  group: 'governance',
  name: 'Policy check',
  description:
    'Check whether the caller may perform an action: allowed, denied, or only with human approval at a gate.',
  tags: ['governance', 'policy'],
  access: 'operator',
  effect: 'read',
  constantBecause: 'It applies the policy of the service, which is one for all tenants.',
  input: z.strictObject({
    ...POLICY_QUESTION,
    action_type: defineNeededField(z.string().max(128), ACTION_TYPE),
  }),
  output: PolicyAnswer,
  examples: [{ action_type: 'release.major' }],
  run: ({ action_type, actor_id, context }, { policies, key }: Context & GateViews) => {
    const asker = { kind: key?.kind ?? ('autonomous' as const), roles: key?.roles ?? [] }
    return policyAnswer({ action_type, actor_id, context }, policies.current(), asker)
  },
})
