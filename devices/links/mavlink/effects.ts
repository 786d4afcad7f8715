import type { PropertyValue } from '../../../shared/wire/device.ts'
import type { PerformOptions } from './command-exchange.ts'
import type { MavlinkBounds } from './goal.ts'
import { FLYING } from './interlocks.ts'
import { nameKnownMode } from './modes.ts'
import {
  armingOf,
  isPause,
  isReposition,
  isTakeOff,
  type MavlinkOperation,
  modeOf,
  nameCommand,
  RELATIVE_ALTITUDE,
} from './operations.ts'
import type { Vehicle } from './vehicle.ts'
import type { VehicleKind } from './vehicle-kind.ts'

type Effect = Pick<PerformOptions, 'isSeen' | 'isUndone'>

/** Readings show nothing of a command before this time. */
const REACTION_MS = 600
/** Height above the place of a take-off from which a vehicle has left it; an estimate sways by less. */
const RISEN_M = 1

/** How the effect of an operation is observed: the mode and the arming are in each heartbeat. */
export const observeEffect = (
  operation: MavlinkOperation,
  vehicle: Vehicle,
  kind: VehicleKind,
): Effect => {
  const read = (name: string): PropertyValue | undefined => vehicle.readings[name]?.value
  const hasBeatenSince = (sinceMs: number | undefined, delay_ms = 0): boolean =>
    sinceMs === undefined || (vehicle.heartbeatAtMs ?? 0) > sinceMs + delay_ms
  // a vehicle that flies to a place has the mode already: only the acknowledgement tells
  if (isPause(operation)) return {}
  const mode = modeOf(operation, kind)
  if (mode !== undefined)
    return { isSeen: since => vehicle.customMode === mode && hasBeatenSince(since) }
  const arming = armingOf(operation)
  if (arming !== undefined)
    return {
      isSeen: since => read('is_armed') === arming && hasBeatenSince(since),
      isUndone: since => read('is_armed') === !arming && hasBeatenSince(since, REACTION_MS),
    }
  return isTakeOff(operation) ? observeTakeOff(read, hasBeatenSince) : {}
}

/**
 * A vehicle that leaves the ground carries out a take-off whose acknowledgements were lost. One that has
 * acknowledged it needs no more: its motors spin up for seconds, and the goal of the climb is awaited.
 */
const observeTakeOff = (
  read: (name: string) => PropertyValue | undefined,
  hasBeatenSince: (sinceMs: number, delay_ms: number) => boolean,
): Effect => {
  const wasOnGround = read('landed_state') === 'on_ground'
  const from_m = Number(read('altitude_m') ?? Number.NaN)
  const isUp = (): boolean => {
    const hasRisen = Number(read('altitude_m') ?? Number.NaN) - from_m >= RISEN_M
    return hasRisen || (wasOnGround && FLYING.includes(String(read('landed_state'))))
  }
  return {
    isSeen: since => since === undefined || isUp(),
    isUndone: since => read('landed_state') === 'on_ground' && hasBeatenSince(since, REACTION_MS),
  }
}

/** True for an operation that sets the vehicle in motion towards its goal. */
export const startsMotion = (
  operation: MavlinkOperation,
  { goal, is_halt }: Pick<MavlinkBounds, 'goal' | 'is_halt'>,
): boolean => {
  const isReturn = (goal?.kind === 'landed' || goal?.kind === 'launch') && is_halt !== true
  return isTakeOff(operation) || isReposition(operation) || isReturn
}

/** Name of an operation for people: `set-mode brake`. */
export const nameOperation = (operation: MavlinkOperation, kind: VehicleKind): string => {
  if (isPause(operation)) return 'pause'
  const mode = modeOf(operation, kind)
  if (mode !== undefined) return `set-mode ${nameKnownMode(kind, mode)}`
  const arming = armingOf(operation)
  if (arming !== undefined) return arming ? 'arm' : 'disarm'
  return nameCommand(operation.fields.command).toLowerCase().replaceAll('_', '-')
}

/** `MAV_FRAME_GLOBAL`: altitude above sea level. */
const ALTITUDE_AMSL = 0

/**
 * Operation as the autopilot understands it: PX4 takes the altitude of a position as one above sea
 * level, whatever its frame (`MavlinkReceiver::handle_message_command_int`). Undefined while the
 * altitude of the launch is unknown.
 */
export const adaptOperation = (
  operation: MavlinkOperation,
  { autopilot }: VehicleKind,
  launchAltitude_m: PropertyValue | undefined,
): MavlinkOperation | undefined => {
  const isRelative =
    operation.message === 'COMMAND_INT' && operation.fields.frame === RELATIVE_ALTITUDE
  if (autopilot !== 'px4' || !isRelative) return operation
  if (typeof launchAltitude_m !== 'number') return undefined
  const { fields } = operation
  const z = Math.fround(fields.z + launchAltitude_m)
  return { ...operation, fields: { ...fields, frame: ALTITUDE_AMSL, z } }
}
