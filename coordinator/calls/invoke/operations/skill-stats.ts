import * as z from 'zod'
import { HOUR_MS, iso, startOfHour } from '../../../../shared/time.ts'
import type { VitalViews } from '../../../kernel/base/vitals.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { CallViews } from '../call-views.ts'
import type { CallHourViews } from '../open-call-hours.ts'

/** Number of stored hours that are summed. */
const HOURS = 24

const milliseconds = z
  .number()
  .nullable()
  .describe('Latency over recent calls; null before the first call.')

export default defineSkill({
  id: 'skill-stats',
  group: 'fleet',
  name: 'Skill statistics',
  description:
    'Show call counts, failures and latency of each skill: those of this coordinator since it started, and those of your tenant in the stored hours, which outlast a restart.',
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
    stored: z
      .object({
        from: z.iso.datetime(),
        calls: z.int(),
        errors: z.int(),
        skills: z.array(
          z.object({ id: z.string(), calls: z.int(), errors: z.int(), mean_ms: z.number() }),
        ),
      })
      .describe('Skills that your tenant has called within 24 hours, on all coordinators.'),
  }),
  run: async (_input, context: Context & CallHourViews & CallViews & VitalViews) => {
    const { calls, vitals, now } = context
    const skills = context.skills.map(({ id }) => ({ id, ...calls.metricsFor(id) }))
    const sum = (name: 'calls' | 'errors') => skills.reduce((all, skill) => all + skill[name], 0)
    return {
      since: iso(now() - vitals.uptimeSeconds() * 1000),
      calls: sum('calls'),
      errors: sum('errors'),
      skills: skills.map(({ id, calls, errors, p50Ms, p95Ms }) => ({
        id,
        calls,
        errors,
        p50_ms: roundKnownMs(p50Ms),
        p95_ms: roundKnownMs(p95Ms),
      })),
      stored: await readStored(context),
    }
  },
})

const readStored = async (context: Context & CallHourViews & CallViews) => {
  const to = context.now() + 1
  const from = startOfHour(to - HOURS * HOUR_MS)
  const known = new Set(context.skills.map(({ id }) => id))
  const { tenantId } = scopeOf(context)
  const sums = (await context.callHours.read({ from, to, tenantId })).filter(({ operationId }) =>
    known.has(operationId),
  )
  return {
    from: iso(from),
    calls: sums.reduce((all, { calls }) => all + calls, 0),
    errors: sums.reduce((all, { errors }) => all + errors, 0),
    skills: sums.map(({ operationId, calls, errors, durationMs }) => ({
      id: operationId,
      calls,
      errors,
      mean_ms: roundMs(durationMs / calls),
    })),
  }
}

/** Rounds to a hundredth of a millisecond. */
const roundMs = (value: number): number => Math.round(value * 100) / 100

const roundKnownMs = (value: number | undefined): number | null =>
  value === undefined ? null : roundMs(value)
