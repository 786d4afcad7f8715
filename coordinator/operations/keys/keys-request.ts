import * as z from 'zod'
import { TIER_NAMES } from '../../../shared/catalogue.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { KEY_KINDS, ROLES } from '../../keys/key.ts'
import { getPerson } from '../../keys/people.ts'
import type { Context } from '../context.ts'
import { callerOf } from '../gates/gate-view.ts'
import { defineOperation } from '../operation.ts'
import { Pending } from '../pending.ts'
import { KEY_GATE, type KeyPlan } from './key-plan.ts'
import { isAdministrator, KeyView } from './key-view.ts'

export default defineOperation({
  id: 'keys-request',
  description: 'Ask for an API key. Once it is approved, you can read it with keys-reveal, once.',
  method: 'POST',
  path: '/v1/keys',
  access: 'key',
  effect: 'gated',
  input: z.strictObject({
    tier: z.enum(TIER_NAMES),
    roles: z.array(z.enum(ROLES)).min(1).max(ROLES.length).default(['client']),
    kind: z.enum(KEY_KINDS).default('person').describe('Who will use it; it cannot be changed.'),
    label: z.string().max(200).default('').describe('What it is for.'),
    person_id: z
      .string()
      .max(128)
      .exactOptional()
      .describe('Who answers for it; you by default. For others, administrators ask.'),
    further_tenants: z.array(z.string().max(64)).max(100).default([]),
    expires_at: z.iso.datetime({ offset: true }).exactOptional().describe('Never by default.'),
  }),
  output: KeyView,
  run: async (input, context) => {
    const caller = callerOf(context)
    const { person_id = caller.person.personId, expires_at, ...rest } = input
    if (person_id !== caller.person.personId && !isAdministrator(context))
      throw new ShoalError('forbidden', 'only an administrator asks for the key of somebody else')
    if (expires_at !== undefined && Date.parse(expires_at) <= context.now())
      throw new ShoalError('invalid_request', 'expires_at is past', { param: 'expires_at' })
    await requirePerson(person_id, context)
    requireOwnTenants(rest.further_tenants, context)
    const plan: KeyPlan = {
      action: 'key.issue',
      tenant_id: caller.tenantId,
      person_id,
      ...rest,
      expires_at: expires_at ?? null,
    }
    const summary = `${rest.tier} key (${rest.kind}: ${rest.roles.join(', ')}) for ${person_id}`
    const asked = { gateId: KEY_GATE, plan, summary }
    const request = await context.gates.request(asked, caller)
    const when = request.state === 'approved' ? 'it is approved' : 'when it is approved'
    return new Pending(
      request,
      `${when}, read the key with keys-reveal: shoal keys reveal ${request.id}`,
    )
  },
})

const requirePerson = async (id: string, { store, tenantId = '' }: Context): Promise<void> => {
  if ((await getPerson(store.ledger, id, { tenantId })) !== undefined) return
  throw new ShoalError('invalid_request', `tenant ${tenantId} has no person ${id}`, {
    param: 'person_id',
  })
}

/** Nobody hands on what they do not have: the approvers of one tenant cannot open another. */
const requireOwnTenants = (ids: readonly string[], { key }: Context): void => {
  const own = key === undefined ? [] : [key.tenantId, ...key.furtherTenants]
  const other = ids.find(id => !own.includes(id))
  if (other === undefined) return
  throw new ShoalError('tenant_forbidden', `your key does not act for ${other}`, {
    param: 'further_tenants',
  })
}
