import * as z from 'zod'
import { Approval } from '../../../../shared/wire/approval.ts'
import { limitJson } from '../../../kernel/declaration/bounded-json.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { PeopleViews } from '../../people/open.ts'
import type { GateViews } from '../open.ts'
import { MAX_PLAN_BYTES } from '../plan-hash.ts'
import { callerOf, RequestView, viewOne } from './gate-view.ts'

export default defineOperation({
  id: 'gates-consume',
  description:
    'Use up an approval for the plan that is about to be carried out. Each approval works once.',
  method: 'POST',
  path: '/v1/gates/requests/{request_id}/consume',
  access: 'operator',
  effect: 'write',
  input: z.strictObject({
    request_id: Id,
    plan: limitJson(z.json(), MAX_PLAN_BYTES).describe(
      'The plan that is about to be carried out; it must equal the approved plan.',
    ),
  }),
  output: RequestView.extend({ approval: Approval }),
  run: async ({ request_id, plan }, context: Context & GateViews & PeopleViews) => {
    const caller = callerOf(context)
    const taken: { approval?: Approval } = {}
    // taken with the use: a read after the commit may fail, when the approval is already used up
    const runInTransaction = async (_trx: unknown, approval: Approval) => {
      taken.approval = approval
    }
    const used = await context.gates.consume(request_id, caller, { plan, runInTransaction })
    const { approval = await context.gates.approval(request_id, { tenantId: caller.tenantId }) } =
      taken
    return { ...(await viewOne(used, context)), approval }
  },
})
