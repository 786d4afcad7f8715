import * as z from 'zod'
import { REQUEST_STATES } from '../../gates/request.ts'
import { defineOperation } from '../operation.ts'
import { callerOf, RequestView, viewFor } from './gate-view.ts'

export default defineOperation({
  id: 'gates-requests',
  description: 'List requests at the gates, newest first.',
  method: 'GET',
  path: '/v1/gates/requests',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    gate_id: z.string().max(128).exactOptional(),
    state: z.enum(REQUEST_STATES).exactOptional(),
    mine: z.boolean().default(false).describe('Only those that you asked.'),
    before: z.string().max(64).exactOptional().describe('`next` of the page before.'),
    limit: z.int().min(1).max(200).default(50),
  }),
  output: z.object({ requests: z.array(RequestView), next: z.string().nullable() }),
  run: async ({ gate_id, state, mine, before, limit }, context) => {
    const { person, tenantId } = callerOf(context)
    const found = await context.gates.list(
      {
        limit,
        ...(gate_id === undefined ? {} : { gateId: gate_id }),
        ...(state === undefined ? {} : { states: [state] }),
        ...(mine ? { requesterId: person.personId } : {}),
        ...(before === undefined ? {} : { before }),
      },
      { tenantId },
    )
    const next = found.length === limit ? (found.at(-1)?.id ?? null) : null
    return { requests: found.map(request => viewFor(request, context)), next }
  },
})
