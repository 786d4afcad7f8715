import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineNeededField } from '../../../kernel/declaration/needed-field.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { GateViews } from '../open.ts'
import { callerOf, STATUS_EXIT, Status, viewFor } from './gate-view.ts'

export default defineSkill({
  id: 'hitl-gate',
  group: 'governance',
  name: 'Human approval',
  description: 'Request human approval of an action at a gate; repeat the call to see its state.',
  tags: ['governance', 'gates'],
  access: 'operator',
  effect: 'write',
  input: z.strictObject({
    gate_id: defineNeededField(
      z.string().max(128),
      'Id of the gate, such as `gate.production-deploy`.',
    ),
    requester: z
      .string()
      .max(128)
      .exactOptional()
      .describe('Label of the caller; the requester is the person of the key.'),
    evidence: z
      .string()
      .max(10_000)
      .exactOptional()
      .describe(
        'The action and its supporting evidence; an approval is valid for this exact text.',
      ),
  }),
  answers: { kind: 'gate_request' },
  output: z.object({
    status: Status,
    request_id: z.string(),
    gate_id: z.string(),
    plan_hash: z.string(),
    approvals_missing: z.int(),
    expires_at: z.iso.datetime(),
  }),
  success: STATUS_EXIT,
  waitsFor: ({ status, request_id }) => (status === 'pending' ? request_id : undefined),
  examples: [{ gate_id: 'gate.minor-release-approve', evidence: 'release 1.4.0, all tests pass' }],
  run: async ({ gate_id, requester, evidence }, context: Context & GateViews) => {
    const plan = { gate_id, evidence: evidence ?? null, requester: requester ?? null }
    const summary = (evidence ?? gate_id).slice(0, 200)
    const asked = await context.gates.request({ gateId: gate_id, plan, summary }, callerOf(context))
    const { status, id, plan_hash, approvals_missing, expires_at } = viewFor(asked, context)
    return { status, request_id: id, gate_id, plan_hash, approvals_missing, expires_at }
  },
})
