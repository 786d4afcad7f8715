import * as z from 'zod'
import { TIER_NAMES } from '../../../../shared/catalogue.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import type { GateRequest } from '../../../kernel/declaration/gate-request.ts'
import { KEY_KINDS, ROLES } from '../../../kernel/declaration/key.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { callerOf } from '../../gates/operations/gate-view.ts'
import type { PeopleViews } from '../../people/open.ts'
import { PersonRef } from '../../people/operations/persons/person-view.ts'
import { KEY_GATE, type KeyPlan } from './key-plan.ts'
import { requireMayHave, resolvePerson } from './key-rules.ts'
import { KeyView } from './key-view.ts'

export default defineOperation({
  id: 'keys-request',
  description:
    'Request an API key. Once it is approved, the requester can reveal it once with keys-reveal.',
  method: 'POST',
  path: '/v1/keys',
  access: 'key',
  effect: 'gated',
  tool: false,
  input: z.strictObject({
    tier: z.enum(TIER_NAMES),
    roles: z.array(z.enum(ROLES)).min(1).max(ROLES.length).default(['client']),
    kind: z
      .enum(KEY_KINDS)
      .default('person')
      .describe('Kind of user that the key is for; it cannot be changed later.'),
    label: z.string().max(200).default('').describe('Purpose of the key.'),
    strict: z
      .boolean()
      .default(false)
      .describe('Refuse inference requests with fields that shoal would ignore.'),
    person_id: PersonRef.exactOptional().describe(
      'Id or name of the person accountable for the key; you by default. Only administrators can name another person.',
    ),
    further_tenants: z.array(Id).max(100).default([]),
    expires_at: z.iso
      .datetime({ offset: true })
      .max(64)
      .exactOptional()
      .describe('Expiry of the key (`2027-01-01T00:00:00Z`); never by default.'),
  }),
  output: KeyView,
  /** keys-reveal carries it out: the secret is shown only to the requester. */
  plan: async (input, context: Context & PeopleViews) => {
    const { person, tenantId } = callerOf(context)
    const { person_id: named = person.personId, expires_at = null, strict, ...rest } = input
    const person_id = await resolvePerson(named, context)
    const plan: KeyPlan = {
      action: 'key.issue',
      tenant_id: tenantId,
      person_id,
      ...rest,
      ...(strict && { strict }),
      expires_at,
    }
    await requireMayHave(plan, context)
    return { plan, gate: KEY_GATE, summary: summaryOf(plan, person.personId), next: toReveal }
  },
})

const toReveal = ({ id, state }: GateRequest): string => {
  const when = state === 'approved' ? 'it is approved' : 'once it is approved'
  return `${when}, reveal the key with keys-reveal: shoal keys reveal ${id}`
}

/** All that the key could do, in one line: nothing that opens something is only in the plan. */
const summaryOf = (plan: KeyPlan, askerId: string): string =>
  [
    `${plan.tier} key (${plan.kind}: ${plan.roles.join(', ')}) for ${plan.person_id}`,
    ...(plan.further_tenants.length === 0 ? [] : [`also in ${plan.further_tenants.join(', ')}`]),
    ...(plan.person_id === askerId ? [] : [`its secret revealed to ${askerId}`]),
    plan.expires_at === null ? 'without expiry' : `until ${plan.expires_at}`,
  ].join(', ')
