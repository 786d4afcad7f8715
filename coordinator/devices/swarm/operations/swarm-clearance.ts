import * as z from 'zod'
import { findClearance } from '../../../../devices/swarm/clearance.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { roundDistance } from '../formation-plan.ts'
import type { SwarmViews } from '../open.ts'
import type { PlannedSwarm } from '../plan-swarm.ts'
import { FORMATION_INPUT } from './swarm-input.ts'

/** Errors for which the clearance is shown. */
const POSITIONS_M = [0, 0.05, 0.1, 0.2, 0.5]
const SKEWS_MS = [0, 100, 200, 500]

export default defineOperation({
  id: 'swarm-clearance',
  description: 'Show how close units of a formation come, with errors of position and start time.',
  method: 'POST',
  path: '/v1/swarm/clearance',
  access: 'operator',
  effect: 'read',
  input: z.strictObject(FORMATION_INPUT),
  examples: [{ formation: 'grid' }],
  output: z.object({
    strategy: z.enum(['direct', 'layered', 'staged']),
    required_m: z.number(),
    /** Least distance when all units move at once; null for a single unit. */
    direct_m: z.number().nullable(),
    /** Units that come closest then; null for a single unit. */
    closest: z
      .object({
        device_ids: z.array(z.string()),
        /** Share of the duration at which they do, from 0 to 1. */
        at: z.number(),
      })
      .nullable(),
    /** Clearance of the whole plan. */
    clearance_m: z.number().nullable(),
    clearance_with_errors_m: z.number().nullable(),
    /** Least distance of the first stage for errors of these sizes. */
    sensitivity: z.array(
      z.object({
        position_m: z.number(),
        skew_ms: z.int(),
        clearance_m: z.number().nullable(),
        /** True when that is as much as required. */
        suffices: z.boolean(),
      }),
    ),
  }),
  run: async (input, { swarm }: SwarmViews) => {
    const plan = await swarm.plan(input)
    const { direct, clearance, strategy, required_m } = plan.planned
    return {
      strategy,
      required_m: roundDistance(required_m) ?? 0,
      direct_m: roundDistance(direct.least_m),
      closest: findClosest(plan),
      clearance_m: roundDistance(clearance.least_m),
      clearance_with_errors_m: roundDistance(clearance.least_with_errors_m),
      sensitivity: listSensitivity(plan),
    }
  },
})

const findClosest = ({ planned: { direct }, units, excluded }: PlannedSwarm) => {
  const placed = excluded.filter(({ place }) => place !== undefined)
  const ids = [...units, ...placed].map(({ device }) => device.id)
  return direct.pair === undefined
    ? null
    : { device_ids: direct.pair.flatMap(index => ids[index] ?? []), at: direct.at }
}

const listSensitivity = ({ planned: { stages, required_m } }: PlannedSwarm) =>
  POSITIONS_M.flatMap(position_m =>
    SKEWS_MS.map(skew_ms => {
      const { least_with_errors_m } = findClearance(stages[0]?.moves ?? [], { position_m, skew_ms })
      return {
        position_m,
        skew_ms,
        clearance_m: roundDistance(least_with_errors_m),
        suffices: least_with_errors_m >= required_m,
      }
    }),
  )
