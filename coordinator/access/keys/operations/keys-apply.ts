import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { PendingView } from '../../../kernel/declaration/pending-result.ts'
import type { GateViews } from '../../gates/open.ts'
import type { VisitorViews } from '../../visitors/open.ts'
import { KEY_GATE } from './key-plan.ts'
import {
  claimCommand,
  VISITOR_FIELDS,
  type VisitorPlan,
  visitorCaller,
  visitorPlan,
  visitorSummary,
} from './visitor-plan.ts'

const MINUTE_MS = 60_000

export default defineOperation({
  id: 'keys-apply',
  description:
    'Request an API key without having one, where visitors are allowed. Once it is approved, keys-claim reveals it once, with the claim token.',
  method: 'POST',
  path: '/v1/keys/requests',
  access: 'none',
  effect: 'gated',
  tool: false,
  input: z.strictObject(VISITOR_FIELDS),
  output: PendingView,
  examples: [{ name: 'Ada', contact: 'ada@example.org', purpose: 'a chat for our club' }],
  /** keys-claim carries it out. */
  plan: async (
    input,
    { visitors, gates, key, address = '', requestId }: Context & GateViews & VisitorViews,
  ) => {
    if (key !== undefined)
      throw new ShoalError('conflict', 'you have a key: request another one with keys-request')
    const { request_minutes, approval_minutes } = gates.definition(KEY_GATE)
    const said = visitorPlan(input)
    const visitor = await visitors.admit(address, (request_minutes + approval_minutes) * MINUTE_MS)
    const { requesterId, tenantId, claimToken } = visitor
    const plan: VisitorPlan = { ...said, tenant_id: tenantId }
    return {
      plan,
      abandon: () => visitors.dismiss(visitor),
      gate: KEY_GATE,
      summary: visitorSummary(plan),
      requester: visitorCaller(requesterId, tenantId, requestId),
      claimToken,
      next: ({ id }) =>
        `keep the claim token, it is not shown again; once the key is approved, reveal it with keys-claim: ${claimCommand(id)}`,
    }
  },
})
