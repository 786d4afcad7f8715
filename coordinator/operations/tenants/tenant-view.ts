import * as z from 'zod'
import type { Tenant } from '../../keys/tenants.ts'

export const TenantView = z.object({
  id: z.string(),
  name: z.string(),
  created_at: z.iso.datetime(),
})

export const tenantViewOf = ({ id, name, createdAt }: Tenant) => ({
  id,
  name,
  created_at: new Date(createdAt).toISOString(),
})
