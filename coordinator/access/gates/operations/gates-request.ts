import * as z from 'zod'
import { limitJson } from '../../../kernel/declaration/bounded-json.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { KeyViews } from '../../keys/open.ts'
import type { PeopleViews } from '../../people/open.ts'
import type { GateViews } from '../open.ts'
import { MAX_PLAN_BYTES } from '../plan-hash.ts'
import { callerOf, GateSubject, RequestView, Summary, viewWithHint } from './gate-view.ts'

export default defineOperation({
  id: 'gates-request',
  description: 'Request approval of one exact plan. The request itself changes nothing.',
  method: 'POST',
  path: '/v1/gates/{gate_id}/requests',
  access: 'operator',
  effect: 'write',
  input: z.strictObject({
    gate_id: z.string().max(128),
    plan: limitJson(z.json(), MAX_PLAN_BYTES).describe(
      'The exact plan; an approval is valid for this plan only.',
    ),
    summary: Summary,
    subject: GateSubject,
    evidence: limitJson(z.json(), MAX_PLAN_BYTES)
      .exactOptional()
      .describe('Supporting evidence, such as tickets or reports.'),
  }),
  answers: { kind: 'gate_request' },
  output: RequestView,
  run: async (
    { gate_id: gateId, ...asked },
    context: Context & GateViews & KeyViews & PeopleViews,
  ) => viewWithHint(await context.gates.request({ gateId, ...asked }, callerOf(context)), context),
})
