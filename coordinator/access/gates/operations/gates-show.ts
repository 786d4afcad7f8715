import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { KeyViews } from '../../keys/open.ts'
import type { PeopleViews } from '../../people/open.ts'
import type { GateViews } from '../open.ts'
import { callerOf, RequestView, viewWithHint } from './gate-view.ts'

export default defineOperation({
  id: 'gates-show',
  description: 'Show one approval request with its full plan and its votes.',
  method: 'GET',
  path: '/v1/gates/requests/{request_id}',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({ request_id: Id }),
  answers: { kind: 'gate_request' },
  output: RequestView,
  run: async ({ request_id }, context: Context & GateViews & KeyViews & PeopleViews) => {
    const { tenantId } = callerOf(context)
    return viewWithHint(await context.gates.get(request_id, { tenantId }), context)
  },
})
