import * as z from 'zod'
import { iso, isoOrNull } from '../../../../../shared/time.ts'
import type { Person } from '../../people.ts'

/** A person as a caller names them. */
export const PersonRef = z.string().max(200).describe('Id or name of the person.')

export const PersonView = z.object({
  id: z.string(),
  tenant_id: z.string(),
  name: z.string(),
  created_at: z.iso.datetime(),
  /** Time when the person and all their keys were disabled; null while enabled. */
  disabled_at: z.iso.datetime().nullable(),
})

export const personViewOf = ({ id, tenantId, name, createdAt, disabledAt }: Person) => ({
  id,
  tenant_id: tenantId,
  name,
  created_at: iso(createdAt),
  disabled_at: isoOrNull(disabledAt),
})
