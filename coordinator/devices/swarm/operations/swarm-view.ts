import * as z from 'zod'
import { Formation } from '../../../../devices/swarm/formation.ts'
import { iso, isoOrNull } from '../../../../shared/time.ts'
import { FORMATION_GATE } from '../../../../shared/wire/plan-part.ts'
import { createGrowingChoice } from '../../../kernel/declaration/define-view.ts'
import { AnchorInput } from '../config.ts'
import { describeUnseen } from '../feasibility.ts'
import type { StartedFormation } from '../formation.table.ts'
import { roundDistance } from '../formation-plan.ts'
import type { Exclusion } from '../members.ts'
import type { PlannedSwarm } from '../plan-swarm.ts'

export const ExcludedView = z.object({
  device_id: z.string(),
  name: z.string(),
  reason: z.enum([
    'not_movable',
    'unavailable',
    'estop',
    'other_site',
    'other_frame',
    'no_position',
    'stale_pose',
    'battery',
    'busy',
    'not_flying',
    'not_asked',
  ]),
  message: z.string(),
})

export const excludedViewOf = ({ device, reason, message }: Exclusion) => ({
  device_id: device.id,
  name: device.facts.name,
  reason,
  message,
})

const Place = z.object({ x_m: z.number(), y_m: z.number(), altitude_m: z.number() })

const ClearanceFields = {
  /** Least planned distance of two centres; null for a single unit. */
  clearance_m: z.number().nullable(),
  /** The same with positions, clocks and paces at their worst. */
  clearance_with_errors_m: z.number().nullable(),
  /** Least distance that the bodies and the margin need. */
  required_m: z.number(),
}

/** A formation that is planned and not carried out. */
export const SwarmPlanView = z.object({
  formation: Formation,
  spacing_m: z.number(),
  anchor: AnchorInput,
  /** Order of the moves: at once, at once in different altitudes, or one after another. */
  strategy: z.enum(['direct', 'layered', 'staged']),
  stages: z.int(),
  duration_s: z.number(),
  ...ClearanceFields,
  units: z.array(
    z.object({
      device_id: z.string(),
      name: z.string(),
      cell_id: z.string(),
      from: Place,
      to: Place,
      distance_m: z.number(),
    }),
  ),
  excluded: z.array(ExcludedView),
  refusal: z
    .string()
    .nullable()
    .describe('Why a live call is refused now: a device whose place is unknown; null otherwise.'),
  /** Gate that must approve it. */
  gate: z.literal(FORMATION_GATE),
})

const round = (value: number): number => Math.round(value * 1000) / 1000

const placeOf = ({ x, y }: { x: number; y: number }, altitude_m: number) => ({
  x_m: round(x),
  y_m: round(y),
  altitude_m: round(altitude_m),
})

export const swarmPlanViewOf = ({
  request,
  planned,
  units,
  excluded,
}: PlannedSwarm): z.input<typeof SwarmPlanView> => ({
  formation: request.formation,
  spacing_m: request.spacing_m,
  anchor: request.anchor,
  strategy: planned.strategy,
  stages: planned.stages.length,
  duration_s: round(planned.duration_s),
  clearance_m: roundDistance(planned.clearance.least_m),
  clearance_with_errors_m: roundDistance(planned.clearance.least_with_errors_m),
  required_m: round(planned.required_m),
  units: units.map(({ device, place }, index) => {
    const slot = planned.slots[index] ?? place
    return {
      device_id: device.id,
      name: device.facts.name,
      cell_id: device.cellId,
      from: placeOf(place, place.altitude_m),
      to: placeOf(slot, place.altitude_m),
      distance_m: round(Math.hypot(slot.x - place.x, slot.y - place.y)),
    }
  }),
  excluded: excluded.map(excludedViewOf),
  refusal: describeUnseen(excluded) ?? null,
  gate: FORMATION_GATE,
})

/** A formation that was started. */
export const FormationView = z.object({
  formation_id: z.string(),
  formation: z.string(),
  /** `waiting` until its start; `aborting` until all units are at rest. */
  state: createGrowingChoice(['waiting', 'moving', 'aborting', 'reached', 'aborted', 'failed']),
  reason: z.string().nullable(),
  units: z.int(),
  request_id: z.string(),
  requested_by: z.string(),
  created_at: z.iso.datetime(),
  start_at: z.iso.datetime(),
  /** End by the plan. */
  ends_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
  stopped_by: z.string().nullable(),
})

export const formationViewOf = (
  one: StartedFormation,
  now: number,
): z.input<typeof FormationView> => ({
  formation_id: one.id,
  formation: one.formation,
  state: one.state !== 'running' ? one.state : now < one.startAt ? 'waiting' : 'moving',
  reason: one.reason ?? null,
  units: one.plan.units.length,
  request_id: one.requestId,
  requested_by: one.createdBy,
  created_at: iso(one.createdAt),
  start_at: iso(one.startAt),
  ends_at: iso(one.endsAt),
  ended_at: isoOrNull(one.endedAt),
  stopped_by: one.stoppedBy ?? null,
})
