import type { Cell } from '../keys/cells.ts'
import type { JoinToken } from '../keys/join-tokens.ts'
import type { Key } from '../keys/key.ts'
import type { Person } from '../keys/people.ts'
import type { Tenant } from '../keys/tenants.ts'

/** Unix milliseconds as RFC 3339; null for what did not happen. */
const time = (at: number | undefined): string | null =>
  at === undefined ? null : new Date(at).toISOString()

/* What the admin program shows of each thing, in wire names. */

export const keyView = (key: Key) => ({
  id: key.id,
  tenant: key.tenantId,
  further_tenants: key.furtherTenants,
  person: key.personId,
  tier: key.tier,
  roles: key.roles,
  kind: key.kind,
  label: key.label,
  created_at: time(key.createdAt),
  expires_at: time(key.expiresAt),
  revoked_at: time(key.revokedAt),
  last_used_at: time(key.lastUsedAt),
})

export const tokenView = (token: JoinToken) => ({
  id: token.id,
  role: token.role,
  tags: token.tags,
  uses: token.uses,
  uses_left: token.usesLeft,
  created_at: time(token.createdAt),
  expires_at: time(token.expiresAt),
  revoked_at: time(token.revokedAt),
})

export const cellView = (cell: Cell) => ({
  id: cell.id,
  name: cell.name,
  tags: cell.tags,
  token: cell.tokenId,
  enrolled_at: time(cell.enrolledAt),
  quarantined_at: time(cell.quarantinedAt),
  revoked_at: time(cell.revokedAt),
})

export const tenantView = (tenant: Tenant) => ({
  id: tenant.id,
  name: tenant.name,
  created_at: time(tenant.createdAt),
})

export const personView = (person: Person) => ({
  id: person.id,
  tenant: person.tenantId,
  name: person.name,
  created_at: time(person.createdAt),
})
