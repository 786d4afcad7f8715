import * as z from 'zod'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { GateViews } from '../../open.ts'
import { parseProposedPolicy } from '../../proposed-policy.ts'
import { ChangeAnswer, planChange, runChange, showChange } from './plan-policy-change.ts'

export default defineOperation({
  id: 'policy-change',
  description:
    'Replace the policy. Two people must approve the change; it then takes effect immediately.',
  method: 'POST',
  path: '/v1/policy',
  access: 'operator',
  effect: 'gated',
  tool: false,
  input: z.strictObject({
    document: z
      .string()
      .min(1)
      .max(60_000)
      .describe('The complete new policy with its table of tests, in YAML or JSON.'),
    reason: z.string().max(300).default('').describe('Reason for the change, for the approvers.'),
    dry_run: z
      .boolean()
      .default(false)
      .describe('Test the policy and show its changes without requesting approval.'),
  }),
  output: ChangeAnswer,
  cli: { group: 'policy', verb: 'change', file: 'document' },
  plan: async ({ document, reason }, { policies }: GateViews) =>
    planChange(await parseProposedPolicy(document, policies.configuredGates), reason, policies),
  show: showChange,
  run: runChange,
})
