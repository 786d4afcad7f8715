import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import type { GateRequest } from '../../../kernel/declaration/gate-request.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { GateViews } from '../../gates/open.ts'
import { stateAt } from '../../gates/request.ts'
import { addPerson, visitorId } from '../../people/people.ts'
import type { VisitorViews } from '../../visitors/open.ts'
import { addKey } from '../issue.ts'
import { KEY_GATE } from './key-plan.ts'
import { KeyView, keyViewOf } from './key-view.ts'
import { claimCommand, VisitorPlan, visitorCaller } from './visitor-plan.ts'

export default defineOperation({
  id: 'keys-claim',
  description:
    'Reveal the key that you requested as a visitor, once it is approved. It is shown only once.',
  method: 'POST',
  path: '/v1/keys/requests/{request_id}/claim',
  access: 'none',
  effect: 'gated',
  tool: false,
  input: z.strictObject({
    request_id: Id,
    claim_token: z.string().max(128).describe('Claim token from the answer of keys-apply.'),
  }),
  output: KeyView.extend({ secret: z.string() }),
  plan: async ({ request_id, claim_token }, context: Context & GateViews & VisitorViews) => {
    const request = await requestOf(claim_token, context)
    if (request?.id !== request_id)
      throw new ShoalError('not_found', `no request ${request_id} with this claim token`, {
        reason: 'name_unknown',
        param: 'request_id',
        next: 'shoal keys apply',
      })
    const state = stateAt(request, context.now())
    if (state !== 'pending' && state !== 'approved') throw new ShoalError('conflict', ENDED[state])
    return {
      request,
      plan: VisitorPlan.parse(request.plan),
      gate: KEY_GATE,
      summary: request.summary,
      requester: visitorCaller(request.requesterId, request.tenantId, context.requestId),
      next: ({ id }) =>
        `the request is still pending; try again later with keys-claim: ${claimCommand(id)}`,
    }
  },
  /** The person, the key and the use of the approval are one transaction. */
  run: async (plan: VisitorPlan, { now, requestId }, approval) => {
    if (approval === undefined) throw new ShoalError('internal', 'the key was not approved')
    const { tenant_id: tenantId, name, tier, kind } = plan
    const by = { actor: approval.requesterId, requestId }
    const { key, secret } = await approval.use(async trx => {
      const person = await addPerson(trx, { id: visitorId(), tenantId, name }, by, now())
      const spec = { tenantId, personId: person.id, tier, kind, label: 'requested by a visitor' }
      return addKey(trx, spec, by, now())
    })
    return { ...keyViewOf(key), secret }
  },
})

/** Messages omit the approvers' reason: visitors must not learn who decides. */
const ENDED = {
  consumed: 'the key was already revealed, and it is shown only once',
  blocked: 'the request was rejected',
  expired: 'the request has expired; make a new one',
  superseded: 'a newer request replaced it',
  withdrawn: 'the request was withdrawn',
}

const requestOf = async (
  claimToken: string,
  { visitors, gates }: GateViews & VisitorViews,
): Promise<GateRequest | undefined> => {
  const requesterId = await visitors.requesterOf(claimToken)
  if (requesterId === undefined) return undefined
  return gates.findNewest({ requesterId, gateId: KEY_GATE }, 'all')
}
