import { isoOrNull } from '../../../shared/time.ts'
import type { Person } from '../../access/people/people.ts'
import type { Tenant } from '../../access/people/tenants.ts'
import type { EnrolledCell } from '../../fleet/enrolment/cells.ts'
import type { JoinToken } from '../../fleet/enrolment/join-tokens.ts'
import type { Checkpoint } from '../../kernel/audit/checkpoint.ts'
import type { Key } from '../../kernel/declaration/key.ts'

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
  strict: key.strict === true,
  created_at: isoOrNull(key.createdAt),
  expires_at: isoOrNull(key.expiresAt),
  revoked_at: isoOrNull(key.revokedAt),
  last_used_at: isoOrNull(key.lastUsedAt),
})

/** Part of the chain that retention has deleted, reported beside the verified part. */
export const toPurgedView = ({ seq, first_at, last_at, retention_days }: Checkpoint) => ({
  purged_up_to: seq,
  purged_from: isoOrNull(first_at),
  purged_until: isoOrNull(last_at),
  purged_after_days: retention_days,
})

export const tokenView = (token: JoinToken) => ({
  id: token.id,
  role: token.role,
  tags: token.tags,
  uses: token.uses,
  uses_left: token.usesLeft,
  created_at: isoOrNull(token.createdAt),
  expires_at: isoOrNull(token.expiresAt),
  revoked_at: isoOrNull(token.revokedAt),
})

export const cellView = (cell: EnrolledCell) => ({
  id: cell.id,
  name: cell.name,
  tags: cell.tags,
  token: cell.tokenId,
  enrolled_at: isoOrNull(cell.enrolledAt),
  quarantined_at: isoOrNull(cell.quarantinedAt),
  revoked_at: isoOrNull(cell.revokedAt),
})

export const tenantView = (tenant: Tenant) => ({
  id: tenant.id,
  name: tenant.name,
  created_at: isoOrNull(tenant.createdAt),
  disabled_at: isoOrNull(tenant.disabledAt),
})

export const personView = (person: Person) => ({
  id: person.id,
  tenant: person.tenantId,
  name: person.name,
  created_at: isoOrNull(person.createdAt),
  disabled_at: isoOrNull(person.disabledAt),
})
