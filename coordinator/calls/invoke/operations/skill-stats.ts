import * as z from 'zod'
import type { VitalViews } from '../../../kernel/base/vitals.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { CallViews } from '../call-views.ts'

const milliseconds = z
  .number()
  .nullable()
  .describe('Latency over recent calls; null before the first call.')

export default defineSkill({
  id: 'skill-stats',
  group: 'fleet',
  name: 'Skill statistics',
  description:
    'Show call counts, failures and latency of each skill since this coordinator started.',
  tags: ['fleet', 'operations', 'statistics'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    since: z.iso.datetime(),
    calls: z.int(),
    errors: z.int(),
    skills: z.array(
      z.object({
        id: z.string(),
        calls: z.int(),
        errors: z.int(),
        p50_ms: milliseconds,
        p95_ms: milliseconds,
      }),
    ),
  }),
  run: (_input, context: Context & CallViews & VitalViews) => {
    const { calls, vitals, now } = context
    const skills = context.skills.map(({ id }) => ({ id, ...calls.metricsFor(id) }))
    const sum = (name: 'calls' | 'errors') => skills.reduce((all, skill) => all + skill[name], 0)
    return {
      since: new Date(now() - vitals.uptimeSeconds() * 1000).toISOString(),
      calls: sum('calls'),
      errors: sum('errors'),
      skills: skills.map(({ id, calls, errors, p50Ms, p95Ms }) => ({
        id,
        calls,
        errors,
        p50_ms: roundMs(p50Ms),
        p95_ms: roundMs(p95Ms),
      })),
    }
  },
})

/** Rounds to a hundredth of a millisecond. */
const roundMs = (value: number | undefined): number | null =>
  value === undefined ? null : Math.round(value * 100) / 100
