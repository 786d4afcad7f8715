import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { findCursorRow, NextCursor, PAGE } from '../../../kernel/declaration/fields.ts'
import { REQUEST_STATES } from '../../../kernel/declaration/gate-request.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { PeopleViews } from '../../people/open.ts'
import type { GateViews } from '../open.ts'
import { callerOf, RequestView, viewAll } from './gate-view.ts'

export default defineOperation({
  id: 'gates-requests',
  description: 'List approval requests, newest first.',
  method: 'GET',
  path: '/v1/gates/requests',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    gate_id: z.string().max(128).exactOptional(),
    state: z.enum(REQUEST_STATES).exactOptional(),
    mine: z.boolean().default(false).describe('Only your own requests.'),
    others: z.boolean().default(false).describe('Only requests of other people.'),
    ...PAGE,
  }),
  output: z.object({ requests: z.array(RequestView), next: NextCursor }),
  run: async (
    { gate_id, state, mine, others, before, limit },
    context: Context & GateViews & PeopleViews,
  ) => {
    const { person, tenantId } = callerOf(context)
    const found = await context.gates.list(
      {
        limit,
        ...(gate_id === undefined ? {} : { gateId: gate_id }),
        ...(state === undefined ? {} : { states: [state] }),
        ...(mine ? { requesterId: person.personId } : {}),
        ...(others ? { exceptRequesterId: person.personId } : {}),
        ...(before === undefined ? {} : { before }),
      },
      { tenantId },
    )
    const next = findCursorRow(found, limit)?.id ?? null
    return { requests: await viewAll(found, context), next }
  },
})
