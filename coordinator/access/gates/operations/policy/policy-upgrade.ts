import * as z from 'zod'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { GateViews } from '../../open.ts'
import { addMissingRules } from '../../shipped-policies.ts'
import { ChangeAnswer, planChange, runChange, showChange } from './plan-policy-change.ts'

export default defineOperation({
  id: 'policy-upgrade',
  description:
    'Add the rules that this version ships and the policy in force lacks. Two people must approve the change.',
  method: 'POST',
  path: '/v1/policy/upgrade',
  access: 'operator',
  effect: 'gated',
  tool: false,
  input: z.strictObject({
    reason: z.string().max(300).default('').describe('Reason for the change, for the approvers.'),
    dry_run: z
      .boolean()
      .default(false)
      .describe('Show the rules that would be added without requesting approval.'),
  }),
  output: ChangeAnswer,
  plan: ({ reason }, { policies }: GateViews) => {
    const current = policies.current()
    const missing = policies.findMissingRules()
    const wanted =
      missing.length === 0
        ? current
        : addMissingRules(current, policies.shipped, missing, policies.configuredGates)
    return planChange(wanted, reason, policies)
  },
  show: showChange,
  run: runChange,
})
