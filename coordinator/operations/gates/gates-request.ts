import * as z from 'zod'
import { MAX_PLAN_BYTES } from '../../gates/plan-hash.ts'
import { bounded } from '../bounded-json.ts'
import { defineOperation } from '../operation.ts'
import { callerOf, RequestView, Subject, Summary, viewFor } from './gate-view.ts'

export default defineOperation({
  id: 'gates-request',
  description: 'Ask people to approve one exact plan. Nothing is done by asking.',
  method: 'POST',
  path: '/v1/gates/{gate_id}/requests',
  access: 'operator',
  effect: 'write',
  input: z.strictObject({
    gate_id: z.string().max(128),
    plan: bounded(z.json(), MAX_PLAN_BYTES).describe(
      'Exactly what is to be done; the approval is good for this alone.',
    ),
    summary: Summary,
    subject: Subject,
    evidence: bounded(z.json(), MAX_PLAN_BYTES)
      .exactOptional()
      .describe('What speaks for it: tickets, reports.'),
  }),
  output: RequestView,
  run: async ({ gate_id: gateId, ...asked }, context) =>
    viewFor(await context.gates.request({ gateId, ...asked }, callerOf(context)), context),
})
