import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { runChecks } from '../../checks.ts'
import type { PolicyAsker } from '../../decide.ts'
import { type GovernanceViews, gatherFacts } from './governance-facts.ts'
import { POLICY_QUESTION, PolicyAnswer, policyAnswer } from './policy-question.ts'

export default defineOperation({
  id: 'policy-checks',
  description:
    'Run the governance checks; with an action_type, also check whether you may perform that action.',
  method: 'GET',
  path: '/v1/policy/checks',
  access: 'operator',
  effect: 'read',
  tool: false,
  timeoutSeconds: 300,
  input: z.strictObject(POLICY_QUESTION),
  output: z.object({
    status: z.enum(['passed', 'failed', 'allowed', 'needs_gate', 'denied']),
    /** Decision on the requested action; null without an action_type. */
    answer: PolicyAnswer.nullable(),
    checks: z.array(
      z.object({
        id: z.string(),
        passed: z.boolean(),
        title: z.string(),
        reason: z.string().nullable(),
        evidence: z.string(),
      }),
    ),
  }),
  cli: { group: 'policy', verb: 'check' },
  success: {
    field: 'status',
    codes: { passed: 0, allowed: 0, failed: 1, needs_gate: 75, denied: 77 },
  },
  run: async ({ action_type, actor_id, context }, views: Context & GovernanceViews) => {
    if (action_type !== undefined) {
      const answer = policyAnswer(
        { action_type, actor_id, context },
        views.policies.current(),
        askerOf(views),
      )
      return { status: answer.decision, answer, checks: [] }
    }
    const results = runChecks(await gatherFacts(views))
    return {
      status: results.every(({ passed }) => passed) ? ('passed' as const) : ('failed' as const),
      answer: null,
      checks: results.map(({ reason = null, ...rest }) => ({ ...rest, reason })),
    }
  },
})

const askerOf = ({ key }: { key: PolicyAsker | undefined }): PolicyAsker =>
  key ?? { kind: 'autonomous', roles: [] }
