import * as z from 'zod'

const Counts = z.record(z.string(), z.int())

export const ASPECTS = ['current', 'identity', 'narrative', 'queue', 'gates', 'tenants'] as const

export const Current = z.object({
  fleet_degraded: z.boolean(),
  cells: Counts.describe('Cells by presence.'),
  models_served: z.array(z.string()),
  models_missing: z.array(z.string()).describe('Models of the catalogue that no cell serves.'),
  devices: z.object({ total: z.int(), available: z.int() }),
  alerts_raised: z.array(
    z.object({ alert_id: z.string(), level: z.string(), message: z.string() }),
  ),
  pending_requests: z.int().describe('Pending requests at gates of your tenant.'),
})

export const Identity = z.object({
  version: z.string(),
  uptime_seconds: z.int(),
  coordinators: z.array(z.object({ replica_id: z.string(), version: z.string() })),
  tenant_id: z.string(),
  policy_version: z.string(),
  skills: z.int(),
  modules: z.int(),
  models: z.int(),
  gates: z.int(),
  agent_roles: z.int(),
})

const Event = z.object({
  event_id: z
    .string()
    .describe('Source and number: `audit:812`, `alert:<id>`, `discovery:97`; look it up there.'),
  at: z.iso.datetime(),
  text: z.string(),
})
export type Event = z.input<typeof Event>

export const Narrative = z.object({
  since: z.iso.datetime(),
  /** Newest first. */
  events: z.array(Event),
  is_cut: z.boolean().describe('True when there were more events than are shown.'),
})

export const QueueAspect = z.object({
  by_state: Counts,
  by_kind: Counts,
  newest: z.array(
    z.object({
      job_id: z.string(),
      kind: z.string(),
      state: z.string(),
      created_at: z.iso.datetime(),
    }),
  ),
})

export const GateAspect = z.object({
  policy_version: z.string(),
  gates: z.array(
    z.object({
      gate_id: z.string(),
      purpose: z.string(),
      approvals: z.array(z.array(z.string())).describe('Roles of each person who must approve.'),
      pending: z.int(),
    }),
  ),
  requests: z.array(
    z.object({
      request_id: z.string(),
      gate_id: z.string(),
      summary: z.string(),
      expires_at: z.iso.datetime(),
    }),
  ),
})

export const TenantAspect = z.object({
  scope: z
    .enum(['own', 'all_of_key'])
    .describe('`all_of_key`: operator_admin sees every tenant that the key may act for.'),
  tenants: z.array(
    z.object({
      tenant_id: z.string(),
      name: z.string(),
      is_enabled: z.boolean(),
      persons: z.int(),
    }),
  ),
})
