import * as z from 'zod'
import { TIER_NAMES } from '../../../../shared/catalogue.ts'
import { KEY_KINDS, ROLES } from '../../../kernel/declaration/key.ts'

export const KEY_GATE = 'gate.developer-api-key-approve'

/** Plan that approvers of a new key approve. */
export const KeyPlan = z.strictObject({
  action: z.literal('key.issue'),
  tenant_id: z.string(),
  person_id: z.string(),
  tier: z.enum(TIER_NAMES),
  roles: z.array(z.enum(ROLES)),
  kind: z.enum(KEY_KINDS),
  label: z.string(),
  strict: z.boolean().exactOptional(),
  further_tenants: z.array(z.string()),
  expires_at: z.string().nullable(),
})
export type KeyPlan = z.output<typeof KeyPlan>
