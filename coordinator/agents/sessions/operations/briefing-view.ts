import * as z from 'zod'
import { AlertView } from '../../../fleet/alerts/operations/alert-view.ts'
import { STEPS } from '../session.ts'

/** Input of a briefing: the roles of the agent. */
export const RoleInput = z.strictObject({
  role: z
    .string()
    .max(200)
    .exactOptional()
    .describe('Roles of the agent; by default those of your newest live session.'),
})

export const RecommendationView = z.object({
  skill: z.string(),
  because: z.enum(['alert', 'gate', 'models', 'role']),
  reason: z.string(),
})

export const Waiting = z.object({
  request_id: z.string(),
  gate_id: z.string(),
  summary: z.string(),
  state: z.enum(['pending', 'approved']),
  expires_at: z.iso.datetime(),
})

/** Facts that an agent needs before it begins. */
export const Briefing = z.object({
  roles: z.array(
    z.object({
      id: z.string(),
      title: z.string(),
      purpose: z.string(),
      /** Operator role that decides at the gates of this work. */
      operator_role: z.string(),
    }),
  ),
  rules: z.object({
    steps: z.array(z.enum(STEPS)).describe('Steps of a session, in order.'),
    policy_version: z.string(),
    actions: z
      .array(
        z.object({
          action_type: z.string(),
          decision: z.enum(['allowed', 'needs_gate', 'denied']),
          gate_id: z.string().nullable(),
          reason: z.string(),
        }),
      )
      .describe("The policy's decisions on the usual actions of the roles, for this key."),
    gates: z
      .array(
        z.object({
          gate_id: z.string(),
          purpose: z.string(),
          approvals: z.array(z.array(z.string())),
        }),
      )
      .describe('Gates of these actions, with the roles of each required approver.'),
  }),
  waits: z.object({
    to_decide: z.array(Waiting).describe('Requests of other people that this key could decide.'),
    yours: z
      .array(Waiting)
      .describe('Your requests that are pending, or approved but not yet used.'),
    alerts: z
      .array(AlertView)
      .nullable()
      .describe('Alerts that are raised now; null without an operator role.'),
  }),
  fleet: z
    .object({
      degraded: z.boolean(),
      cells: z.record(z.string(), z.int()).describe('Number of cells by presence.'),
      models_served: z.array(z.string()),
      models_missing: z.array(z.string()),
    })
    .nullable()
    .describe('State of the fleet; null without an operator role.'),
  skills: z
    .array(z.object({ id: z.string(), name: z.string(), effect: z.string() }))
    .describe('Skills of the roles that the key may call.'),
  recommended: z.array(RecommendationView),
})
export type Briefing = z.input<typeof Briefing>
