import * as z from 'zod'
import { Id } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { callerOf, RequestView, viewWithHint } from './gate-view.ts'

export default defineOperation({
  id: 'gates-show',
  description: 'Show one approval request with its full plan and its votes.',
  method: 'GET',
  path: '/v1/gates/requests/{request_id}',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({ request_id: Id }),
  output: RequestView,
  run: async ({ request_id }, context) => {
    const { tenantId } = callerOf(context)
    return viewWithHint(await context.gates.get(request_id, { tenantId }), context)
  },
})
