import * as z from 'zod'
import { listAgentRoles } from './roles.ts'
import { AGENT_TYPES, VARIANTS } from './session.ts'

const isRole = (id: string): boolean => listAgentRoles().some(role => role.id === id.trim())

/** Profile: values that an agent docks with by default, selected by the name of the profile. */
const Profile = z
  .strictObject({
    title: z.string().min(1).max(200).describe('What it is for.'),
    agent_type: z.enum(AGENT_TYPES).exactOptional(),
    role: z
      .string()
      .refine(text => text.split(',').every(isRole), 'names an unknown role')
      .exactOptional()
      .describe('A role, or several with commas for variant v1_multi_role.'),
    variant: z.enum(VARIANTS).exactOptional(),
  })
  .refine(({ role = '', variant }) => !role.includes(',') || variant === 'v1_multi_role', {
    path: ['variant'],
    error: 'several roles need variant v1_multi_role',
  })
type Profile = z.output<typeof Profile>

const SHIPPED: Record<string, z.input<typeof Profile>> = {
  developer: { title: 'An agent that writes programs.', agent_type: 'ai_agent', role: 'coding' },
  'full-stack': {
    title: 'One agent that writes, tests and reviews.',
    agent_type: 'ai_agent',
    role: 'coding,testing,review',
    variant: 'v1_multi_role',
  },
  ci: {
    title: 'Jobs of a pipeline, side by side.',
    agent_type: 'ci_pipeline',
    role: 'testing',
    variant: 'v2_parallel',
  },
  'night-watch': {
    title: 'An autonomous agent that a person looks after.',
    agent_type: 'autonomous',
    role: 'operations',
    variant: 'v3_supervised',
  },
  operator: { title: 'A person at work on the fleet.', agent_type: 'human', role: 'operations' },
}

export const AgentsConfig = z.strictObject({
  session_idle_minutes: z
    .number()
    .positive()
    .max(7 * 24 * 60)
    .default(60)
    .describe('Inactivity after which a session ends.'),
  session_hours: z
    .number()
    .positive()
    .max(7 * 24)
    .default(12)
    .describe('Maximum duration of a session from docking.'),
  sessions_per_tenant: z
    .int()
    .min(1)
    .max(10_000)
    .default(200)
    .describe('Live sessions that one tenant may have.'),
  claims_per_session: z
    .int()
    .min(1)
    .max(1000)
    .default(20)
    .describe('Scopes that one session may hold at once.'),
  peer_minutes: z
    .number()
    .positive()
    .max(24 * 60)
    .default(30)
    .describe('Lifetime of a claim of an operator role, unless it is claimed again.'),
  kept_days: z
    .number()
    .min(1)
    .max(3660)
    .default(183)
    .describe('Retention of ended sessions and their evidence.'),
  profiles: z
    .record(z.string().regex(/^[a-z][a-z0-9-]{0,63}$/, 'is not a profile id'), Profile)
    .default({})
    .transform((own): Record<string, Profile> => ({ ...SHIPPED, ...own }))
    .describe('Shortcuts for docking by id, laid over the shipped ones; see docs/agents.md.'),
})
export type AgentsConfig = z.output<typeof AgentsConfig>
