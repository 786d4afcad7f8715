import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import { createUnknownError } from '../../../../shared/reference-errors.ts'
import type { Caller } from '../../../kernel/declaration/caller.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import type { GateRequest } from '../../../kernel/declaration/gate-request.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { GateViews } from '../../gates/open.ts'
import { callerOf } from '../../gates/operations/gate-view.ts'
import { isOwnSubject } from '../../gates/own-subject.ts'
import type { PeopleViews } from '../../people/open.ts'
import { addKey } from '../issue.ts'
import { KEY_GATE, KeyPlan } from './key-plan.ts'
import { requireMayHave } from './key-rules.ts'
import { KeyView, keyViewOf } from './key-view.ts'

export default defineOperation({
  id: 'keys-reveal',
  description: 'Reveal the approved key that you requested. It is shown only once.',
  method: 'POST',
  path: '/v1/keys/requests/{request_id}/reveal',
  access: 'key',
  effect: 'write',
  usesApproval: true,
  reasons: ['key_revealed'],
  tool: false,
  input: z.strictObject({ request_id: Id }),
  output: KeyView.extend({ secret: z.string() }),
  plan: async ({ request_id }, context: Context & GateViews & PeopleViews) => {
    const caller = callerOf(context)
    const request = await context.gates.get(request_id, { tenantId: caller.tenantId })
    if (request.gateId !== KEY_GATE || request.requesterId !== caller.person.personId)
      throw createUnknownError('request', request_id)
    if (!isOwnSubject(request.subject))
      throw new ShoalError('forbidden', 'request a key with keys-request first')
    requireAsker(request, caller.person)
    const plan = KeyPlan.parse(request.plan)
    await requireMayHave(plan, context)
    return { plan, request }
  },
  run: async (plan: KeyPlan, { now, actor }, approval) => {
    if (approval === undefined) throw new TypeError('a key is revealed with its approval only')
    const { key, secret } = await approval
      .use(trx => addKey(trx, specOf(plan), actor, now()))
      .catch(rethrowRevealed)
    return { ...keyViewOf(key), secret }
  },
})

const rethrowRevealed = (error: unknown): never => {
  if (!(error instanceof ShoalError) || error.reason !== 'approval_used') throw error
  const { code, message } = error
  throw new ShoalError(code, message, { reason: 'key_revealed', cause: error })
}

/**
 * A program can reveal only keys that it requested itself, not those of its person or another
 * program.
 */
const requireAsker = ({ requesterKeyId }: GateRequest, { keyId, kind }: Caller['person']): void => {
  if (kind === 'person' || keyId === requesterKeyId) return
  throw new ShoalError(
    'forbidden',
    `a key of kind ${kind} can reveal only keys that it requested itself`,
  )
}

const specOf = (plan: KeyPlan) => ({
  tenantId: plan.tenant_id,
  furtherTenants: plan.further_tenants,
  personId: plan.person_id,
  tier: plan.tier,
  roles: plan.roles,
  kind: plan.kind,
  label: plan.label,
  ...(plan.strict && { strict: true }),
  ...(plan.expires_at === null ? {} : { expiresAt: Date.parse(plan.expires_at) }),
})
