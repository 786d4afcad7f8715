import * as z from 'zod'
import { ShoalError } from '../../../../../shared/errors.ts'
import type { PolicyAsker } from '../../decide.ts'
import type { Policy } from '../../policy.ts'

/** Description of `action_type`. */
export const ACTION_TYPE = 'Intended action, such as `device.command.unsafe` or `release.major`.'

/** Input fields of a question to the policy. */
export const POLICY_QUESTION = {
  action_type: z.string().max(128).exactOptional().describe(ACTION_TYPE),
  actor_id: z
    .string()
    .max(128)
    .exactOptional()
    .describe('Label of the caller; the decision is made for the person of the key.'),
  context: z
    .string()
    .max(10_000)
    .exactOptional()
    .describe('Context of the action: a JSON object whose members the rules can test.'),
}

export const PolicyAnswer = z.object({
  action_type: z.string(),
  actor_id: z.string().nullable(),
  decision: z.enum(['allowed', 'needs_gate', 'denied']),
  gate_id: z.string().nullable(),
  rule_id: z.string().nullable(),
  reason: z.string(),
  policy_version: z.string(),
})

interface Question {
  action_type: string
  actor_id: string | undefined
  context: string | undefined
}

/** Throws `invalid_request` for a context that looks like JSON but cannot be parsed. */
export const policyAnswer = (
  { action_type, actor_id, context }: Question,
  policy: Pick<Policy, 'decide' | 'version'>,
  asker: PolicyAsker,
): z.output<typeof PolicyAnswer> => {
  const verdict = policy.decide(action_type, asker, membersOf(context))
  return {
    action_type,
    actor_id: actor_id ?? null,
    decision: verdict.decision,
    gate_id: verdict.gateId ?? null,
    rule_id: verdict.ruleId ?? null,
    reason: verdict.reason,
    policy_version: policy.version,
  }
}

/** The members of a JSON object; free text has none. */
const membersOf = (context = ''): Record<string, unknown> => {
  if (!context.trimStart().startsWith('{')) return {}
  try {
    return JSON.parse(context)
  } catch (cause) {
    throw new ShoalError('invalid_request', 'context looks like JSON but is not valid', {
      param: 'context',
      cause,
    })
  }
}
