import * as z from 'zod'
import type { Person } from '../../keys/people.ts'

export const PersonView = z.object({
  id: z.string(),
  tenant_id: z.string(),
  name: z.string(),
  created_at: z.iso.datetime(),
})

export const personViewOf = ({ id, tenantId, name, createdAt }: Person) => ({
  id,
  tenant_id: tenantId,
  name,
  created_at: new Date(createdAt).toISOString(),
})
