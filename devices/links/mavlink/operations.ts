import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import type { Json } from '../../profile.ts'
import { joinPx4Mode, numberMode, splitPx4Mode } from './modes.ts'
import type { VehicleKind } from './vehicle-kind.ts'

/** Commands that this link sends (`MAV_CMD` of `common.xml`). */
const COMMANDS = {
  NAV_TAKEOFF: 22,
  DO_SET_MODE: 176,
  DO_CHANGE_SPEED: 178,
  DO_REPOSITION: 192,
  COMPONENT_ARM_DISARM: 400,
} as const
type CommandName = keyof typeof COMMANDS

/** Idempotent commands, which are retried when no acknowledgement arrives. */
const IDEMPOTENT: readonly number[] = [
  COMMANDS.DO_SET_MODE,
  COMMANDS.DO_CHANGE_SPEED,
  COMMANDS.DO_REPOSITION,
]

const COMMAND_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(COMMANDS).map(([name, id]) => [id, name]),
)

const Command = z.int().refine(id => COMMAND_NAMES.has(id), { error: 'is not a known command' })
const Id = z.int().min(0).max(255)
/** Null is NaN on the wire: the vehicle keeps its own value. */
const Param = z.number().min(-1e9).max(1e9).nullable()
const Height = z.number().min(-1e5).max(1e5)
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
    fields: z.strictObject({ ...TARGET, ...PARAMS, frame: Id, x: Int32, y: Int32, z: Height }),
  }),
])
export type MavlinkOperation = z.infer<typeof MavlinkOperation>

/** Addressing of a vehicle, and what it is: the same command differs between kinds. */
export interface MavlinkTarget {
  target_system: number
  target_component: number
}
export interface VehicleTarget extends MavlinkTarget {
  kind: VehicleKind
}

/** @throws ShoalError invalid_request for an operation that no plan of this link contains */
export const parseOperation = (operation: Json): MavlinkOperation => {
  const parsed = MavlinkOperation.safeParse(operation)
  if (parsed.success) return parsed.data
  throw new ShoalError('invalid_request', 'the operation is not a command of MAVLink')
}

const is = ({ fields }: MavlinkOperation, name: CommandName): boolean =>
  fields.command === COMMANDS[name]

/** Mode of PX4 that holds the place, and that flies to another one after a reposition. */
const PX4_HOLD = 'auto_loiter'
const PX4 = { autopilot: 'px4', vehicleClass: 'copter' } as const

/** True for the reposition without a place, by which PX4 brakes and holds. */
export const isPause = (operation: MavlinkOperation): boolean =>
  operation.message === 'COMMAND_LONG' && is(operation, 'DO_REPOSITION')

/** Number of the mode that an operation sets; undefined for another operation. */
export const modeOf = (
  operation: MavlinkOperation,
  { autopilot }: Pick<VehicleKind, 'autopilot'>,
): number | undefined => {
  if (isPause(operation)) return numberMode(PX4, PX4_HOLD)
  if (!is(operation, 'DO_SET_MODE')) return undefined
  const { param2, param3 } = operation.fields
  return autopilot === 'px4' ? joinPx4Mode(param2 ?? 0, param3 ?? 0) : (param2 ?? 0)
}

/** True for an operation that arms, false for one that disarms; undefined for another one. */
export const armingOf = (operation: MavlinkOperation): boolean | undefined =>
  is(operation, 'COMPONENT_ARM_DISARM') ? operation.fields.param1 === 1 : undefined

export const isReposition = (operation: MavlinkOperation): boolean =>
  is(operation, 'DO_REPOSITION') && !isPause(operation)
export const isTakeOff = (operation: MavlinkOperation): boolean => is(operation, 'NAV_TAKEOFF')

export const nameCommand = (command: number): string => COMMAND_NAMES.get(command) ?? `${command}`
export const isIdempotent = (command: number): boolean => IDEMPOTENT.includes(command)

/** Creates a command with up to seven parameters; the wire has them as 32-bit floats. */
const createCommand = (
  name: CommandName,
  { target_system, target_component }: MavlinkTarget,
  params: readonly (number | null)[],
): MavlinkOperation => {
  const [param1 = 0, param2 = 0, param3 = 0, param4 = 0, param5 = 0, param6 = 0, param7 = 0] =
    params.map(each => each && Math.fround(each))
  const fields = { param1, param2, param3, param4, param5, param6, param7 }
  const target = { target_system, target_component }
  return { message: 'COMMAND_LONG', fields: { command: COMMANDS[name], ...target, ...fields } }
}

/** `MAV_MODE_FLAG_CUSTOM_MODE_ENABLED`: the other parameters are the autopilot's own mode. */
const CUSTOM_MODE = 1
/** `SPEED_TYPE_GROUNDSPEED`, and the value that leaves the throttle as it is. */
const GROUND_SPEED = 1
const NO_THROTTLE = -1
/** `MAV_FRAME_GLOBAL_RELATIVE_ALT`: altitude above the place of take-off. */
export const RELATIVE_ALTITUDE = 3
/** Coordinate that stands for the place where the vehicle is. */
const HERE = 0x7fff_ffff
/** Heading, latitude, longitude and altitude that the vehicle has. */
const HERE_AND_NOW = [null, null, null, null]
/** The vehicle's own speed. */
const OWN_SPEED = -1
/**
 * PX4 changes to its mode with the position. ArduPilot refuses it in another mode than the guided one,
 * so that a pilot who has taken over is not overruled.
 */
const CHANGE_MODE = 1
const KEEP_MODE = 0

/**
 * Changes the mode; PX4 has its main mode and its sub mode as two parameters. A PX4 that flies to a place
 * is in its holding mode already, acknowledges a change to it, and flies on (`Navigator::run`, `Loiter`):
 * only a reposition without a place brakes it.
 */
export const createModeCommand = (target: VehicleTarget, mode: string): MavlinkOperation => {
  if (target.kind.autopilot === 'px4' && mode === PX4_HOLD)
    return createCommand('DO_REPOSITION', target, [OWN_SPEED, CHANGE_MODE, 0, ...HERE_AND_NOW])
  const number = numberMode(target.kind, mode)
  const { main, sub } = splitPx4Mode(number)
  const params = target.kind.autopilot === 'px4' ? [main, sub] : [number]
  return createCommand('DO_SET_MODE', target, [CUSTOM_MODE, ...params])
}

/** Arms or disarms; without the value that forces it, so that an autopilot refuses it in flight. */
export const createArmCommand = (target: MavlinkTarget, isArmed: boolean): MavlinkOperation =>
  createCommand('COMPONENT_ARM_DISARM', target, [isArmed ? 1 : 0])

export const createSpeedCommand = (target: MavlinkTarget, speed_m_s: number): MavlinkOperation =>
  createCommand('DO_CHANGE_SPEED', target, [GROUND_SPEED, speed_m_s, NO_THROTTLE])

/** Creates a command with a place: COMMAND_INT has it in 1e-7 degrees, which COMMAND_LONG cannot. */
const createPlaceCommand = (
  name: CommandName,
  { target_system, target_component }: MavlinkTarget,
  { params, x, y, altitude_m }: PlaceParams,
): MavlinkOperation => {
  const [param1 = 0, param2 = 0, param3 = 0, param4 = 0] = params
  return {
    message: 'COMMAND_INT',
    fields: {
      command: COMMANDS[name],
      target_system,
      target_component,
      ...{ param1, param2, param3, param4 },
      frame: RELATIVE_ALTITUDE,
      x,
      y,
      z: Math.fround(altitude_m),
    },
  }
}

interface PlaceParams {
  params: readonly (number | null)[]
  x: number
  y: number
  altitude_m: number
}

/** Takes off above where the vehicle is; the heading of PX4 is left to it. */
export const createTakeOffCommand = (
  target: VehicleTarget,
  altitude_m: number,
): MavlinkOperation =>
  target.kind.autopilot === 'px4'
    ? createPlaceCommand('NAV_TAKEOFF', target, {
        params: [0, 0, 0, null],
        x: HERE,
        y: HERE,
        altitude_m,
      })
    : createCommand('NAV_TAKEOFF', target, [0, 0, 0, 0, 0, 0, altitude_m])

interface Destination {
  lat: number
  lon: number
  altitude_m: number
  speed_m_s: number
}

/**
 * Goes to a position. Unlike SET_POSITION_TARGET_GLOBAL_INT it is acknowledged. PX4 takes the speed
 * from it; ArduPilot takes none, and needs DO_CHANGE_SPEED after it.
 */
export const createGoToCommand = (
  target: VehicleTarget,
  { lat, lon, altitude_m, speed_m_s }: Destination,
): MavlinkOperation => {
  const isPx4 = target.kind.autopilot === 'px4'
  return createPlaceCommand('DO_REPOSITION', target, {
    params: isPx4 ? [Math.fround(speed_m_s), CHANGE_MODE, 0, null] : [OWN_SPEED, KEEP_MODE, 0, 0],
    x: Math.round(lat * 1e7),
    y: Math.round(lon * 1e7),
    altitude_m,
  })
}
