/** Tables of access rights: tenants, persons, and their keys. */
export interface KeyTables {
  tenants: TenantRow
  persons: PersonRow
  keys: KeyRow
  key_claims: KeyClaimRow
  visitor_requests: VisitorRequestRow
}

export interface TenantRow {
  id: string
  name: string
  created_at: number
  /** Time at which the tenant's keys were disabled; null while they are valid. */
  disabled_at: number | null
}

export interface PersonRow {
  id: string
  tenant_id: string
  name: string
  created_at: number
  /** Time at which the person's keys were disabled; null while they are valid. */
  disabled_at: number | null
}

export interface KeyRow {
  id: string
  digest: string
  /** Digest of the secret from before the last rotation, while both are accepted. */
  previous_digest: string | null
  tenant_id: string
  /** Tenants beside `tenant_id` the key may act for. */
  further_tenants_json: string
  person_id: string
  tier: string
  roles_json: string
  kind: string
  label: string
  created_at: number
  expires_at: number | null
  revoked_at: number | null
  last_used_at: number | null
  /** 1 for a key whose inference requests are refused for fields that nobody reads. */
  strict: number | null
}

/** Claim of a visitor who requested a key; the holder of the claim token can reveal the key. */
interface KeyClaimRow {
  id: string
  digest: string
  /** The visitor's name at the gates. */
  requester_id: string
  tenant_id: string
  created_at: number
  expires_at: number
}

/** A visitor's request within the last hour, for the limit of an address. */
interface VisitorRequestRow {
  /** That of the claim. */
  id: string
  address_digest: string
  at: number
}
