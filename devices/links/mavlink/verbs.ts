import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { CRITICAL_GATE } from '../../../shared/wire/plan-part.ts'
import {
  type DevicePlan,
  type DeviceVerb,
  defineVerb,
  type Json,
  type PlannedMotion,
  type PlanTarget,
} from '../../profile.ts'
import type { MavlinkBounds, MavlinkGoal } from './goal.ts'
import { DISARMED, GPS_FIX_AT_START, NOT_IN_AIR, READY_TO_ARM } from './interlocks.ts'
import { listModes } from './modes.ts'
import {
  createArmCommand,
  createModeCommand,
  type MavlinkOperation,
  type VehicleTarget,
} from './operations.ts'
import { traitsOf, type VehicleTraits } from './traits.ts'
import type { VehicleClass } from './vehicle-kind.ts'

const COMMAND_TIMEOUT_S = 30
export const MOVE_TIMEOUT_S = 900
/** Horizontal distance from its start that wind may move a climbing vehicle. */
export const DRIFT_M = 3

const Options = z.object({
  system_id: z.int(),
  component_id: z.int(),
  vehicle_type: z.string(),
  autopilot: z.enum(['ardupilot', 'px4']),
  vehicle_class: z.enum(['copter', 'rover', 'plane', 'sub']),
  can_hover: z.boolean(),
  return_altitude_m: z.number(),
  return_speed_m_s: z.number(),
})

/** Vehicle that a plan is for. */
export interface PlannedVehicle extends z.infer<typeof Options> {
  target: VehicleTarget
  traits: VehicleTraits
}

/** @throws ShoalError cell_unavailable before the first heartbeat has said what the vehicle is */
export const readVehicle = ({ options }: PlanTarget): PlannedVehicle => {
  const parsed = Options.safeParse(options)
  if (!parsed.success)
    throw new ShoalError(
      'cell_unavailable',
      'no heartbeat has reported the type of this vehicle yet',
    )
  const { data } = parsed
  const kind = {
    autopilot: data.autopilot,
    vehicleClass: data.vehicle_class,
    canHover: data.can_hover,
  }
  const target = { target_system: data.system_id, target_component: data.component_id, kind }
  return { ...data, target, traits: traitsOf(kind) }
}

interface PlanParts {
  operations: MavlinkOperation[]
  motion?: PlannedMotion
  bounds?: Omit<MavlinkBounds, 'vehicle' | 'motion'> & { override_geofence?: boolean }
}

/** Creates the plan for a vehicle; its type and autopilot are part of the bounds, and so of the hash. */
export const createPlan = (
  { autopilot, vehicle_type }: PlannedVehicle,
  { operations, motion, bounds = {} }: PlanParts,
): DevicePlan => ({
  operations: operations as Json[],
  ...(motion && { motion }),
  bounds: { vehicle: { autopilot, vehicle_type }, ...(bounds as Record<string, Json>) },
})

/** Motion whose speed, end and course the autopilot chooses between its start and the launch. */
const planReturn = (
  vehicle: PlannedVehicle,
  goal: MavlinkGoal,
  mode = vehicle.traits.returning,
): DevicePlan =>
  createPlan(vehicle, {
    operations: [createModeCommand(vehicle.target, mode)],
    motion: {
      path: [],
      launch: {
        frame: 'wgs84',
        x: 'launch_lat',
        y: 'launch_lon',
        altitude_m: vehicle.vehicle_class === 'rover' ? 0 : vehicle.return_altitude_m,
      },
      max_speed_m_s: vehicle.return_speed_m_s,
      max_duration_s: MOVE_TIMEOUT_S,
      // what hovers with a low battery falls
      waives: ['battery_percent', 'battery_volts'],
    },
    bounds: { goal, modes: [mode] },
  })

/** Creates a verb that only reduces risk: it skips every queue and gate. */
export const createHaltVerb = (
  description: string,
  listRungs: (vehicle: PlannedVehicle) => readonly string[],
  goal: MavlinkGoal = { kind: 'rest' },
): DeviceVerb =>
  defineVerb({
    description,
    params: z.strictObject({}),
    hazard: 'safe',
    isUrgent: true,
    isIdempotent: true,
    timeoutSeconds: goal.kind === 'landed' ? MOVE_TIMEOUT_S : COMMAND_TIMEOUT_S,
    atEstop: goal.kind === 'landed' ? 'land' : 'hold',
    plan: (_params, target) => {
      const vehicle = readVehicle(target)
      const rungs = listRungs(vehicle).map(mode => createModeCommand(vehicle.target, mode))
      const [first, ...fallbacks] = rungs
      if (first === undefined)
        throw new ShoalError('invalid_request', `a ${vehicle.vehicle_type} cannot do that`)
      const bounds = { goal, fallbacks, is_halt: true } as const
      return createPlan(vehicle, { operations: [first], bounds })
    },
  })

export const createHoldVerbs = (description: string): Record<'hold' | 'stop', DeviceVerb> => {
  const verb = createHaltVerb(description, ({ traits }) => traits.hold)
  return { hold: verb, stop: verb }
}

/** Creates the verbs that start and stop the motors; both have the interlocks, by default not in the air. */
export const createArmVerbs = (
  danger: string,
  { atEstop, interlocks = [NOT_IN_AIR] }: Pick<DeviceVerb, 'atEstop' | 'interlocks'>,
): Record<'arm' | 'disarm', DeviceVerb> => {
  const base = {
    params: z.strictObject({}),
    hazard: 'unsafe',
    gate: CRITICAL_GATE,
    isIdempotent: true,
    timeoutSeconds: COMMAND_TIMEOUT_S,
    atEstop,
  } as const
  const planArming = (target: PlanTarget, isArmed: boolean): DevicePlan => {
    const vehicle = readVehicle(target)
    return createPlan(vehicle, { operations: [createArmCommand(vehicle.target, isArmed)] })
  }
  return {
    arm: defineVerb({
      ...base,
      description: `Start the motors. ${danger}`,
      interlocks: [DISARMED, ...interlocks, READY_TO_ARM],
      plan: (_params, target) => planArming(target, true),
    }),
    disarm: defineVerb({
      ...base,
      description: 'Stop the motors on the ground; the autopilot refuses it in flight.',
      interlocks,
      isExemptFromPlace: true,
      plan: (_params, target) => planArming(target, false),
    }),
  }
}

/** Modes that end a motion; every other one hands the vehicle to a pilot, a mission or its own way. */
const ENDING_MODES: readonly string[] = [
  ...['brake', 'hold', 'land', 'rtl', 'qland', 'qrtl', 'surface'],
  ...['auto_loiter', 'auto_land', 'auto_rtl'],
]

/** Creates the verb that changes the mode, of those of either autopilot. */
export const createModeVerb = (
  vehicleClass: VehicleClass,
  { atEstop }: Pick<DeviceVerb, 'atEstop'>,
  returnGoal: MavlinkGoal,
): DeviceVerb => {
  const modes = listModes(vehicleClass)
  const ending = modes.filter(mode => ENDING_MODES.includes(mode))
  return defineVerb({
    description: 'Change the mode of the autopilot.',
    params: z.strictObject({ mode: z.enum(modes as [string, ...string[]]) }),
    hazard: 'unsafe',
    hazardOf: ({ mode }) => (ending.includes(mode) ? 'caution' : 'unsafe'),
    hazardRule: `caution for ${ending.join(', ')}, unsafe otherwise`,
    isIdempotent: true,
    timeoutSeconds: MOVE_TIMEOUT_S,
    atEstop,
    plan: ({ mode }, target) => {
      const vehicle = readVehicle(target)
      if (mode === vehicle.traits.returning && mode !== 'surface')
        return planReturn(vehicle, returnGoal, mode)
      return createPlan(vehicle, { operations: [createModeCommand(vehicle.target, mode)] })
    },
  })
}

/** Creates the verb that returns to the launch. */
export const createReturnVerb = (
  description: string,
  { atEstop }: Pick<DeviceVerb, 'atEstop'>,
  chooseGoal: (vehicle: PlannedVehicle) => MavlinkGoal,
): DeviceVerb =>
  defineVerb({
    description,
    params: z.strictObject({}),
    hazard: 'caution',
    isIdempotent: true,
    timeoutSeconds: MOVE_TIMEOUT_S,
    // not watched: where the position is lost, the failsafe of the autopilot is the better judge
    interlocks: [GPS_FIX_AT_START],
    atEstop,
    plan: (_params, target) => {
      const vehicle = readVehicle(target)
      return planReturn(vehicle, chooseGoal(vehicle))
    },
  })
