import * as z from 'zod'
import { iso, isoOrNull } from '../../../../../shared/time.ts'
import type { Tenant } from '../../tenants.ts'

export const TenantView = z.object({
  id: z.string(),
  name: z.string(),
  created_at: z.iso.datetime(),
  /** Time when the tenant and all its keys were disabled; null while enabled. */
  disabled_at: z.iso.datetime().nullable(),
})

export const tenantViewOf = ({ id, name, createdAt, disabledAt }: Tenant) => ({
  id,
  name,
  created_at: iso(createdAt),
  disabled_at: isoOrNull(disabledAt),
})
