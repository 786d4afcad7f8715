import * as z from 'zod'
import { CRITICAL_GATE } from '../../../shared/wire/plan-part.ts'
import { type DeviceVerb, defineVerb, type Interlock } from '../../profile.ts'
import { createGoToCommand, createModeCommand, createSpeedCommand } from './operations.ts'
import { createPlan, MOVE_TIMEOUT_S, type PlannedVehicle, readVehicle } from './verbs.ts'

/** Altitude above the place of take-off, in metres. */
export const Altitude = z.number().min(2).max(500)

const Place = {
  lat: z.number().min(-90).max(90).describe('Latitude in degrees, WGS 84.'),
  lon: z.number().min(-180).max(180).describe('Longitude in degrees, WGS 84.'),
  override_geofence: z
    .boolean()
    .default(false)
    .describe('Move although a geofence forbids it; two persons must approve.'),
}

interface GoToVerb extends Pick<DeviceVerb, 'description' | 'atEstop'> {
  maxSpeed_m_s: number
  usualSpeed_m_s: number
  /** Distance from the place at which the vehicle has arrived. */
  within_m: number
  hasAltitude: boolean
  isCircling?: boolean
  interlocks: readonly Interlock[]
}

/** Creates the verb that goes straight to a position, and rests or circles there. */
export const createGoToVerb = ({
  maxSpeed_m_s,
  usualSpeed_m_s,
  within_m,
  hasAltitude,
  isCircling = false,
  ...verb
}: GoToVerb): DeviceVerb => {
  const speed_m_s = z.number().min(0.5).max(maxSpeed_m_s).default(usualSpeed_m_s)
  const params = {
    ...Place,
    ...(hasAltitude && { altitude_m: Altitude.describe('Altitude above the place of take-off.') }),
    speed_m_s: speed_m_s.describe('Ground speed.'),
  }
  return defineVerb({
    ...verb,
    params: z.strictObject(params),
    hazard: 'unsafe',
    gateOf: ({ override_geofence }) => (override_geofence ? CRITICAL_GATE : undefined),
    isIdempotent: true,
    timeoutSeconds: MOVE_TIMEOUT_S,
    plan: ({ lat, lon, speed_m_s, override_geofence, ...rest }, target) => {
      const vehicle = readVehicle(target)
      const altitude_m = Number((rest as { altitude_m?: number }).altitude_m ?? 0)
      return createPlan(vehicle, {
        operations: listOperations(vehicle, { lat, lon, altitude_m, speed_m_s }),
        motion: {
          path: [{ frame: 'wgs84', x: lat, y: lon, altitude_m }],
          max_speed_m_s: speed_m_s,
          max_duration_s: MOVE_TIMEOUT_S,
        },
        bounds: {
          goal: {
            kind: 'position',
            lat,
            lon,
            ...(hasAltitude && { altitude_m }),
            within_m,
            ...(isCircling && !vehicle.can_hover && { is_circling: true }),
          },
          modes: [vehicle.traits.guided],
          override_geofence,
        },
      })
    },
  })
}

/**
 * ArduPilot resets its speed when it takes the first position after a take-off or a change of the mode
 * (`ModeGuided::pva_control_start` of ArduCopter), and a rover takes a speed only while it has a
 * position to go to: the speed follows the position. A copter that keeps its sub-mode already has it.
 */
const listOperations = (
  { target, traits, autopilot, vehicle_class }: PlannedVehicle,
  destination: Parameters<typeof createGoToCommand>[1],
) => {
  const goTo = createGoToCommand(target, destination)
  if (autopilot === 'px4') return [goTo]
  const speed = createSpeedCommand(target, destination.speed_m_s)
  const mode = createModeCommand(target, traits.guided)
  return vehicle_class === 'copter' ? [mode, speed, goTo, speed] : [mode, goTo, speed]
}
