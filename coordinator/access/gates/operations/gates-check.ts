import * as z from 'zod'
import { createUnknownError } from '../../../../shared/reference-errors.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import { REQUEST_STATES } from '../../../kernel/declaration/gate-request.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { GateViews } from '../open.ts'
import { callerOf, STATUS_EXIT, Status, viewFor } from './gate-view.ts'

export default defineOperation({
  id: 'gates-check',
  description: 'Check whether a request at a gate is approved, pending or blocked.',
  method: 'GET',
  path: '/v1/gates/{gate_id}',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    gate_id: z.string().max(128),
    request_id: Id.exactOptional().describe(
      'Id of the request; by default your newest one at this gate.',
    ),
  }),
  output: z.object({
    gate_id: z.string(),
    status: Status,
    /** Null before the first request. */
    request_id: z.string().nullable(),
    state: z.enum(REQUEST_STATES).nullable(),
    reason: z.string().nullable(),
    plan_hash: z.string().nullable(),
    approvals_missing: z.int().nullable(),
    expires_at: z.iso.datetime().nullable(),
  }),
  success: STATUS_EXIT,
  run: async ({ gate_id, request_id }, context: Context & GateViews) => {
    const { gates } = context
    const { person, tenantId } = callerOf(context)
    const newest = { gateId: gate_id, requesterId: person.personId }
    const request =
      request_id === undefined
        ? await gates.findNewest(newest, { tenantId })
        : await gates.get(request_id, { tenantId })
    // a request may outlive its gate; without a request, an unknown gate is an error
    if (request === undefined) gates.definition(gate_id)
    if (request === undefined) return { ...NOTHING, gate_id }
    if (request.gateId !== gate_id)
      throw createUnknownError('request', `${request_id}`, { where: `at ${gate_id}` })
    const view = viewFor(request, context)
    const { status, id, state, reason, plan_hash, approvals_missing, expires_at } = view
    const facts = { status, state, reason, plan_hash, approvals_missing, expires_at }
    return { gate_id, request_id: id, ...facts }
  },
})

const NOTHING = {
  status: 'pending' as const,
  request_id: null,
  state: null,
  reason: 'no request was made yet',
  plan_hash: null,
  approvals_missing: null,
  expires_at: null,
}
