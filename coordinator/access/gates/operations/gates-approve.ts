import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { PeopleViews } from '../../people/open.ts'
import type { GateViews } from '../open.ts'
import { callerOf, Reason, RequestView, viewOne } from './gate-view.ts'

export default defineOperation({
  id: 'gates-approve',
  description: "Approve another person's request. You need one of the gate's roles.",
  method: 'POST',
  path: '/v1/gates/requests/{request_id}/approve',
  access: 'operator',
  effect: 'write',
  input: z.strictObject({ request_id: Id, reason: Reason }),
  answers: { kind: 'gate_request' },
  output: RequestView,
  run: async ({ request_id, reason }, context: Context & GateViews & PeopleViews) =>
    viewOne(await context.gates.approve(request_id, callerOf(context), { reason }), context),
})
