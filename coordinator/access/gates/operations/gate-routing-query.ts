import * as z from 'zod'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { GateViews } from '../open.ts'

export default defineSkill({
  id: 'gate-routing-query',
  group: 'governance',
  name: 'Gate routing',
  description:
    'Find which operator roles approve a gate, and how many different people must approve.',
  tags: ['governance', 'gates'],
  access: 'operator',
  effect: 'read',
  constantBecause: 'It shows the configured gates, which are the same for all tenants.',
  input: z.strictObject({ gate_id: z.string().max(128).describe('Id of the gate.') }),
  output: z.object({
    gate_id: z.string(),
    purpose: z.string(),
    /** Every role that can take part. */
    approver_roles: z.array(z.string()),
    /** One entry per required approver: the roles of which that person needs one. */
    approvals: z.array(z.array(z.string())),
    approvals_needed: z.int(),
    request_minutes: z.int(),
    approval_minutes: z.int(),
  }),
  examples: [{ gate_id: 'gate.major-release-approve' }],
  run: ({ gate_id }, { gates }: GateViews) => {
    const { purpose, approvals, request_minutes, approval_minutes } = gates.definition(gate_id)
    return {
      gate_id,
      purpose,
      approvals,
      request_minutes,
      approval_minutes,
      approver_roles: [...new Set(approvals.flat())],
      approvals_needed: approvals.length,
    }
  },
})
