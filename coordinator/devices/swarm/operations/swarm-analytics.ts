import * as z from 'zod'
import { figure } from '../../../../shared/unknown-fields.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { StartedFormation } from '../formation.table.ts'
import type { SwarmViews } from '../open.ts'
import { countState, MAX_IN_SERIES } from './formation-series.ts'

const DAYS = 30
const DAY_MS = 86_400_000

const Totals = z.object({
  started: z.int(),
  reached: z.int(),
  aborted: z.int(),
  failed: z.int(),
  /** Share of those that have ended; null before the first end. */
  reached_percent: figure(z.number().nullable(), 'no formation has ended in the period'),
})

export default defineSkill({
  id: 'swarm-analytics',
  group: 'devices',
  name: 'Swarm analytics',
  description:
    'Summarise the formations of the last 30 days: ends, accuracy and frequent failures.',
  tags: ['devices', 'swarm', 'analytics'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    days: z.int(),
    totals: Totals,
    by_formation: z.array(Totals.extend({ formation: z.string() })),
    /** Mean and largest distance of units from their slots; null without a measurement. */
    mean_error_m: figure(
      z.number().nullable(),
      'no position was measured at the end of a formation',
    ),
    largest_error_m: figure(
      z.number().nullable(),
      'no position was measured at the end of a formation',
    ),
    /** Reasons of ends other than by the plan, most frequent first. */
    reasons: z.array(z.object({ reason: z.string(), count: z.int() })),
  }),
  toLoad: 'a formation: `shoal skills run swarm-formation`; docs/swarm.md',
  run: async (_input, { formations, now }: Context & SwarmViews) => {
    const since = now() - DAYS * DAY_MS
    const found = await formations.list({ since, limit: MAX_IN_SERIES })
    const shapes = Map.groupBy(found, ({ formation }) => formation)
    const errors = found
      .flatMap(({ outcome = [] }) => outcome)
      .flatMap(({ distance_m }) => distance_m ?? [])
    return {
      data_state: dataState(found.length),
      days: DAYS,
      totals: countEnds(found),
      by_formation: [...shapes].map(([formation, all]) => ({ formation, ...countEnds(all) })),
      mean_error_m: meanOf(errors),
      largest_error_m: errors.length === 0 ? null : Math.max(...errors),
      reasons: countReasons(found),
    }
  },
})

const countEnds = (formations: readonly StartedFormation[]): z.input<typeof Totals> => {
  const reached = countState(formations, 'reached')
  const ended = formations.filter(({ endedAt }) => endedAt !== undefined).length
  return {
    started: formations.length,
    reached,
    aborted: countState(formations, 'aborted'),
    failed: countState(formations, 'failed'),
    reached_percent: ended === 0 ? null : Math.round((1000 * reached) / ended) / 10,
  }
}

const meanOf = (values: readonly number[]): number | null =>
  values.length === 0
    ? null
    : Math.round((1000 * values.reduce((sum, value) => sum + value, 0)) / values.length) / 1000

const countReasons = (formations: readonly StartedFormation[]) =>
  [...Map.groupBy(formations, ({ reason }) => reason)]
    .flatMap(([reason, all]) => (reason === undefined ? [] : [{ reason, count: all.length }]))
    .sort((a, b) => b.count - a.count)
    .slice(0, 10)
