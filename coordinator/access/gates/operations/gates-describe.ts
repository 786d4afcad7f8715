import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { GateViews } from '../open.ts'
import { callerOf } from './gate-view.ts'
import { GateView } from './gates-list.ts'

export default defineOperation({
  id: 'gates-describe',
  description:
    'Describe one gate: which actions it covers, who approves, how long approvals last, and your own rights.',
  method: 'GET',
  path: '/v1/gates/{gate_id}/definition',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({ gate_id: z.string().min(1).max(128) }),
  output: GateView.extend({
    /** Number of different people who must approve. */
    persons: z.int(),
    /** True when your key may approve other people's requests at this gate. */
    you_may_approve: z.boolean(),
  }),
  run: async ({ gate_id }, context: Context & GateViews) => {
    const { tenantId, person } = callerOf(context)
    const definition = context.gates.definition(gate_id)
    const waiting = await context.gates.countPending({ tenantId })
    const { approvals } = definition
    return {
      gate_id,
      ...definition,
      pending: waiting.get(gate_id) ?? 0,
      persons: approvals.length,
      you_may_approve:
        person.kind === 'person' &&
        approvals.some(roles => roles.some(role => person.roles.includes(role))),
    }
  },
})
