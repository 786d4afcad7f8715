import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import type { Json } from '../../profile.ts'
import { COPTER_MODES, type CopterMode } from './names.ts'

/** Commands that this link sends (`MAV_CMD` of `common.xml`). */
const COMMANDS = {
  NAV_RETURN_TO_LAUNCH: 20,
  NAV_LAND: 21,
  NAV_TAKEOFF: 22,
  DO_SET_MODE: 176,
  DO_CHANGE_SPEED: 178,
  DO_REPOSITION: 192,
  COMPONENT_ARM_DISARM: 400,
} as const
type CommandName = keyof typeof COMMANDS

/** Idempotent commands, which are retried when no acknowledgement arrives. */
const IDEMPOTENT: readonly number[] = [
  COMMANDS.NAV_RETURN_TO_LAUNCH,
  COMMANDS.NAV_LAND,
  COMMANDS.DO_SET_MODE,
  COMMANDS.DO_CHANGE_SPEED,
  COMMANDS.DO_REPOSITION,
]

const COMMAND_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(COMMANDS).map(([name, id]) => [id, name]),
)

const Command = z.int().refine(id => COMMAND_NAMES.has(id), { error: 'is not a known command' })
const Id = z.int().min(0).max(255)
const Param = z.number().min(-1e9).max(1e9)
const Int32 = z.int().min(-0x8000_0000).max(0x7fff_ffff)
const PARAMS = { param1: Param, param2: Param, param3: Param, param4: Param }
const TARGET = { command: Command, target_system: Id, target_component: Id }

/** A message as it is sent; its fields are those of the wire. */
export const MavlinkOperation = z.discriminatedUnion('message', [
  z.strictObject({
    message: z.literal('COMMAND_LONG'),
    fields: z.strictObject({ ...TARGET, ...PARAMS, param5: Param, param6: Param, param7: Param }),
  }),
  z.strictObject({
    message: z.literal('COMMAND_INT'),
    fields: z.strictObject({ ...TARGET, ...PARAMS, frame: Id, x: Int32, y: Int32, z: Param }),
  }),
])
export type MavlinkOperation = z.infer<typeof MavlinkOperation>

/** Condition that ends an operation beside its acknowledgement, as bounds of the plan. */
export const MavlinkGoal = z.strictObject({
  altitude_m: z.number(),
  lat: z.number().exactOptional(),
  lon: z.number().exactOptional(),
  /** Mode in which the vehicle moves; that of guided flight when absent. */
  mode: z.literal('rtl').exactOptional(),
})
export type MavlinkGoal = z.infer<typeof MavlinkGoal>

/** Addressing of a vehicle. */
export interface MavlinkTarget {
  target_system: number
  target_component: number
}

/** @throws ShoalError invalid_request for an operation that no plan of this link contains */
export const parseOperation = (operation: Json): MavlinkOperation => {
  const parsed = MavlinkOperation.safeParse(operation)
  if (parsed.success) return parsed.data
  throw new ShoalError('invalid_request', 'the operation is not a command of MAVLink')
}

export const nameCommand = (command: number): string => COMMAND_NAMES.get(command) ?? `${command}`
export const isLanding = ({ fields }: MavlinkOperation): boolean =>
  fields.command === COMMANDS.NAV_LAND
export const isIdempotent = (command: number): boolean => IDEMPOTENT.includes(command)

/** Creates a command with up to seven parameters; the wire has them as 32-bit floats. */
const createCommand = (
  name: CommandName,
  target: MavlinkTarget,
  params: readonly number[],
): MavlinkOperation => {
  const [param1 = 0, param2 = 0, param3 = 0, param4 = 0, param5 = 0, param6 = 0, param7 = 0] =
    params.map(Math.fround)
  const fields = { param1, param2, param3, param4, param5, param6, param7 }
  return { message: 'COMMAND_LONG', fields: { command: COMMANDS[name], ...target, ...fields } }
}

/** `MAV_MODE_FLAG_CUSTOM_MODE_ENABLED`: the second parameter is the autopilot's own mode. */
const CUSTOM_MODE = 1
/** `SPEED_TYPE_GROUNDSPEED`, and the value that leaves the throttle as it is. */
const GROUND_SPEED = 1
const NO_THROTTLE = -1
/** `MAV_FRAME_GLOBAL_RELATIVE_ALT`: altitude above the place of take-off. */
const RELATIVE_ALTITUDE = 3
/** The vehicle's own speed, and a change of the mode to that of guided flight. */
const OWN_SPEED = -1
const CHANGE_MODE = 1

export const createModeCommand = (target: MavlinkTarget, mode: CopterMode): MavlinkOperation =>
  createCommand('DO_SET_MODE', target, [CUSTOM_MODE, COPTER_MODES[mode]])

/** Arms or disarms; without the value that forces it, so that an autopilot refuses it in flight. */
export const createArmCommand = (target: MavlinkTarget, isArmed: boolean): MavlinkOperation =>
  createCommand('COMPONENT_ARM_DISARM', target, [isArmed ? 1 : 0])

export const createTakeOffCommand = (target: MavlinkTarget, altitude_m: number): MavlinkOperation =>
  createCommand('NAV_TAKEOFF', target, [0, 0, 0, 0, 0, 0, altitude_m])

export const createReturnCommand = (target: MavlinkTarget): MavlinkOperation =>
  createCommand('NAV_RETURN_TO_LAUNCH', target, [])

export const createLandCommand = (target: MavlinkTarget): MavlinkOperation =>
  createCommand('NAV_LAND', target, [])

export const createSpeedCommand = (target: MavlinkTarget, speed_m_s: number): MavlinkOperation =>
  createCommand('DO_CHANGE_SPEED', target, [GROUND_SPEED, speed_m_s, NO_THROTTLE])

/**
 * Flies to a position. COMMAND_INT carries it in 1e-7 degrees, which COMMAND_LONG cannot; unlike
 * SET_POSITION_TARGET_GLOBAL_INT it is acknowledged.
 */
export const createGoToCommand = (
  target: MavlinkTarget,
  { lat, lon, altitude_m }: { lat: number; lon: number; altitude_m: number },
): MavlinkOperation => ({
  message: 'COMMAND_INT',
  fields: {
    command: COMMANDS.DO_REPOSITION,
    ...target,
    param1: OWN_SPEED,
    param2: CHANGE_MODE,
    param3: 0,
    param4: 0,
    frame: RELATIVE_ALTITUDE,
    x: Math.round(lat * 1e7),
    y: Math.round(lon * 1e7),
    z: Math.fround(altitude_m),
  },
})
