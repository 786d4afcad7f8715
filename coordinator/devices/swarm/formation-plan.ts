import * as z from 'zod'
import { Formation } from '../../../devices/swarm/formation.ts'
import { FORMATION_VERB, FormationParams, SiteOrigin } from '../../../shared/wire/formation.ts'
import { FORMATION_GATE } from '../../../shared/wire/plan-part.ts'
import { AnchorInput } from './config.ts'
import type { PlannedSwarm } from './plan-swarm.ts'

/** Plan of a formation as people approve it: one approval for the parts of all cells. */
export const FormationPlan = z.object({
  verb: z.literal(FORMATION_VERB),
  hazard: z.literal('unsafe'),
  gate: z.literal(FORMATION_GATE),
  formation: Formation,
  spacing_m: z.number(),
  anchor: AnchorInput,
  strategy: z.enum(['direct', 'layered', 'staged']),
  position_m: z.number(),
  /** Origin of the frame, where a device of the site knows its position on the globe. */
  origin: SiteOrigin.exactOptional(),
  required_m: z.number(),
  /** Least planned distance of two units, and with errors at their worst; null for one unit. */
  clearance_m: z.number().nullable(),
  clearance_with_errors_m: z.number().nullable(),
  duration_s: z.number(),
  units: z
    .array(
      z.object({
        device_id: z.string().max(64),
        cell_id: z.string().max(64),
        name: z.string().max(128),
        /** x and y in the local frame, in metres. */
        slot: z.array(z.number()).max(2),
      }),
    )
    .max(200),
  cells: z.array(z.object({ cell_id: z.string().max(64), params: FormationParams })).max(200),
  parts: z.array(z.object({ cell_id: z.string().max(64), part_hash: z.string().max(64) })).max(200),
})
export type FormationPlan = z.infer<typeof FormationPlan>

const round = (value: number): number => Math.round(value * 1000) / 1000

/** Distance in millimetres; null where there is only one unit. */
export const roundDistance = (metres: number): number | null =>
  Number.isFinite(metres) ? round(metres) : null

export const toFormationPlan = (
  { request, planned, units, cells, position_m, origin }: PlannedSwarm,
  parts: FormationPlan['parts'],
): FormationPlan => ({
  verb: FORMATION_VERB,
  hazard: 'unsafe',
  gate: FORMATION_GATE,
  formation: request.formation,
  spacing_m: request.spacing_m,
  anchor: request.anchor,
  strategy: planned.strategy,
  position_m,
  ...(origin && { origin }),
  required_m: round(planned.required_m),
  clearance_m: roundDistance(planned.clearance.least_m),
  clearance_with_errors_m: roundDistance(planned.clearance.least_with_errors_m),
  duration_s: round(planned.duration_s),
  units: units.map(({ device }, index) => {
    const slot = planned.slots[index]
    return {
      device_id: device.id,
      cell_id: device.cellId,
      name: device.facts.name,
      slot: [round(slot?.x ?? 0), round(slot?.y ?? 0)],
    }
  }),
  cells: [...cells],
  parts,
})
