import * as z from 'zod'
import { MavlinkOperation } from './operations.ts'

const Within = z.number().positive()

/** Condition that ends a verb, as part of the bounds of its plan. Each one includes rest. */
export const MavlinkGoal = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('altitude'), altitude_m: z.number(), within_m: Within }),
  z.strictObject({
    kind: z.literal('position'),
    lat: z.number(),
    lon: z.number(),
    /** Absent for a vehicle on the ground. */
    altitude_m: z.number().exactOptional(),
    within_m: Within,
    /** True for a plane, which circles there instead of resting. */
    is_circling: z.literal(true).exactOptional(),
  }),
  z.strictObject({
    kind: z.literal('launch'),
    within_m: Within,
    is_circling: z.literal(true).exactOptional(),
  }),
  /** Goal of a vehicle that is on the ground and disarmed. */
  z.strictObject({ kind: z.literal('landed') }),
  z.strictObject({ kind: z.literal('rest') }),
])
export type MavlinkGoal = z.infer<typeof MavlinkGoal>

/** Bounds of a plan that this link executes. */
export const MavlinkBounds = z.object({
  /** Vehicle that was planned for; another one at the same address voids the plan. */
  vehicle: z.object({ autopilot: z.string(), vehicle_type: z.string() }),
  goal: MavlinkGoal.exactOptional(),
  /** Modes in which the vehicle carries out the plan; any other one is a take-over. */
  modes: z.array(z.string()).exactOptional(),
  /** Operations that are tried in order when the one of the plan is refused or has no effect. */
  fallbacks: z.array(MavlinkOperation).exactOptional(),
  /** True for a verb whose abort must not brake: it brings the vehicle to rest itself. */
  is_halt: z.literal(true).exactOptional(),
  motion: z.object({ max_speed_m_s: z.number() }).exactOptional(),
})
export type MavlinkBounds = z.infer<typeof MavlinkBounds>
