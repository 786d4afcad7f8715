import * as z from 'zod'
import { TIER_NAMES } from '../../../../shared/catalogue.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { escapeHidden } from '../../../../shared/visible.ts'
import type { Caller } from '../../../kernel/declaration/caller.ts'
import { KEY_KINDS } from '../../../kernel/declaration/key.ts'

/** Unverified statements of a visitor about themselves and their key. */
export const VISITOR_FIELDS = {
  name: z.string().trim().min(1).max(200).describe('Name of the person accountable for the key.'),
  contact: z.string().trim().min(1).max(200).describe('Address for questions about the request.'),
  purpose: z.string().trim().min(1).max(500).describe('Intended use of the key.'),
  tier: z.enum(TIER_NAMES).default('free'),
  kind: z
    .enum(KEY_KINDS)
    .default('person')
    .describe('Kind of user that the key is for; it cannot be changed later.'),
}

/** Plan that approvers of a visitor's key approve; it also creates the person. */
export const VisitorPlan = z.strictObject({
  action: z.literal('key.issue-to-visitor'),
  tenant_id: z.string(),
  roles: z.tuple([z.literal('client')]),
  name: z.string(),
  contact: z.string(),
  purpose: z.string(),
  tier: z.enum(TIER_NAMES),
  kind: z.enum(KEY_KINDS),
})
export type VisitorPlan = z.output<typeof VisitorPlan>

/** Command line that reveals a visitor's key. */
export const claimCommand = (requestId: string): string =>
  `shoal keys claim ${requestId} --claim-token TOKEN`

type Said = Pick<VisitorPlan, 'name' | 'contact' | 'purpose' | 'tier' | 'kind'>

/** The plan with all text as an approver may see it, which is also how it is kept. */
export const visitorPlan = ({ tier, kind, ...said }: Said): Omit<VisitorPlan, 'tenant_id'> => ({
  action: 'key.issue-to-visitor',
  roles: ['client'],
  name: escapeField('name', said.name, 200),
  contact: escapeField('contact', said.contact, 200),
  purpose: escapeField('purpose', said.purpose, 500),
  tier,
  kind,
})

const escapeField = (param: string, text: string, most: number): string => {
  const safe = escapeHidden(text)
  if (safe.length <= most) return safe
  throw new ShoalError('invalid_request', `${param} has too many invisible characters`, { param })
}

/** One-line summary; the visitor's words are quoted, so that they cannot pass for shoal's. */
export const visitorSummary = ({ tier, kind, name, contact, purpose }: VisitorPlan): string =>
  `${tier} key (${kind}: client) for a visitor without a key, who says: ` +
  [name, `reached at ${contact}`, purpose].map(text => JSON.stringify(text)).join(', ')

/** Caller for a visitor at the gates: a separate person, whom no key represents. */
export const visitorCaller = (
  requesterId: string,
  tenantId: string,
  requestId: string,
): Caller => ({
  person: { personId: requesterId, keyId: '', kind: 'person', roles: [] },
  tenantId,
  by: { actor: requesterId, requestId },
})
