import * as z from 'zod'
import { TIER_NAMES } from '../../../shared/catalogue.ts'

export const KEY_KINDS = ['person', 'ai_agent', 'autonomous', 'ci_pipeline'] as const
export type KeyKind = (typeof KEY_KINDS)[number]

export const OPERATOR_ROLES = [
  'builder',
  'reviewer',
  'architect',
  'finance',
  'legal',
  'operator_admin',
] as const
export const ROLES = ['client', ...OPERATOR_ROLES] as const
export type Role = (typeof ROLES)[number]

/** Rights of a new key. The kind is fixed at issue. */
export const KeySpec = z.strictObject({
  tenantId: z.string().min(1),
  /** Tenants beside the home tenant that the key may act for. */
  furtherTenants: z.array(z.string().min(1)).max(100).default([]),
  personId: z.string().min(1),
  tier: z.enum(TIER_NAMES),
  roles: z.array(z.enum(ROLES)).min(1).default(['client']),
  kind: z.enum(KEY_KINDS).default('person'),
  label: z.string().max(200).default(''),
  /** Refuses inference requests with fields that would be ignored otherwise. */
  strict: z.boolean().exactOptional(),
  /** Unix time in milliseconds. */
  expiresAt: z.int().positive().exactOptional(),
})
export type KeySpec = z.input<typeof KeySpec>

export interface Key extends Omit<z.output<typeof KeySpec>, 'strict' | 'expiresAt'> {
  id: string
  /** Strictness: inference requests with unknown fields are refused. */
  strict?: boolean | undefined
  /** Unix time in milliseconds, like all times here. */
  createdAt: number
  expiresAt?: number | undefined
  revokedAt?: number | undefined
  lastUsedAt?: number | undefined
  /** Beginning of the digest of the presented secret; set only for a presented key. */
  secretId?: string
  /** Unix time since which its person or home tenant is disabled; set only for a presented key. */
  disabledAt?: number
  /** Disabled tenants of `furtherTenants`; set only for a presented key. */
  disabledTenants?: readonly string[]
}
