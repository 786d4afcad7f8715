import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { GateViews } from '../open.ts'
import { callerOf } from './gate-view.ts'

export const GateView = z.object({
  gate_id: z.string(),
  purpose: z.string(),
  /** One entry per required approver: the roles of which that person needs one. */
  approvals: z.array(z.array(z.string())),
  request_minutes: z.int(),
  approval_minutes: z.int(),
  /** Number of pending requests of the caller's tenant. */
  pending: z.int(),
})

export default defineOperation({
  id: 'gates-list',
  description:
    'List the gates: which actions each one covers, who approves, and how many requests are pending.',
  method: 'GET',
  path: '/v1/gates',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    gates: z.array(GateView),
  }),
  run: async (_input, context: Context & GateViews) => {
    const { tenantId } = callerOf(context)
    const waiting = await context.gates.countPending({ tenantId })
    return {
      gates: Object.entries(context.gates.definitions).map(([gate_id, definition]) => ({
        gate_id,
        ...definition,
        pending: waiting.get(gate_id) ?? 0,
      })),
    }
  },
})
