import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { PeopleViews } from '../../people/open.ts'
import type { GateViews } from '../open.ts'
import { callerOf, RequestView, viewOne } from './gate-view.ts'

export default defineOperation({
  id: 'gates-withdraw',
  description: 'Withdraw one of your own requests.',
  method: 'POST',
  path: '/v1/gates/requests/{request_id}/withdraw',
  access: 'operator',
  effect: 'write',
  input: z.strictObject({ request_id: Id }),
  output: RequestView,
  run: async ({ request_id }, context: Context & GateViews & PeopleViews) =>
    viewOne(await context.gates.withdraw(request_id, callerOf(context)), context),
})
