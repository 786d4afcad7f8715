import * as z from 'zod'
import { SafetyEnvelope } from '../../../shared/wire/safety-envelope.ts'
import { MavlinkConnection } from './connection.ts'

const SystemId = z.int().min(1).max(255)

/**
 * System id of this cell. Ground stations use 255 (Mission Planner, QGroundControl), 252 to 254 as
 * second ones, and 245 (MAVSDK): two senders of one id would share failsafes and sequence numbers.
 */
const OWN_SYSTEM_ID = 243

/** A vehicle that a link expects; frames of other systems are ignored. */
export const MavlinkVehicleConfig = z.strictObject({
  name: z.string().min(1).max(64).describe('Name of the device, and its identity on the cell.'),
  system_id: SystemId.default(1).describe('System id of the vehicle.'),
  component_id: SystemId.default(1).describe('Component id of its autopilot.'),
  return_altitude_m: z
    .number()
    .min(0)
    .max(500)
    .default(15)
    .describe('Least altitude of its return to the launch, as its RTL_ALT says.'),
  return_speed_m_s: z
    .number()
    .positive()
    .max(50)
    .default(10)
    .describe('Highest speed of that return: its RTL_SPEED, or WPNAV_SPEED where that is 0.'),
  profile: z
    .enum(['copter', 'rover', 'plane', 'sub'])
    .exactOptional()
    .describe(
      'Profile that the vehicle must have. Its heartbeat decides; one of another kind accepts no ' +
        'commands but stops.',
    ),
  overspeed_percent: z
    .number()
    .min(0)
    .max(1000)
    .default(20)
    .describe('A motion ends when it is faster than approved by this share, in percent, and'),
  overspeed_m_s: z.number().min(0).max(100).default(0.5).describe('by this speed, for'),
  overspeed_ms: z.int().min(200).max(60_000).default(1000).describe('this time.'),
  site: z.string().min(1).max(64).exactOptional().describe('Site, instead of that of the cell.'),
  envelope: SafetyEnvelope.exactOptional().describe('Limits of this vehicle.'),
})
export type MavlinkVehicleConfig = z.infer<typeof MavlinkVehicleConfig>

/** Vehicles that send MAVLink to one UDP port of this cell. */
export const MavlinkLinkConfig = z.strictObject({
  kind: z.literal('mavlink'),
  connection: MavlinkConnection.default('udp:127.0.0.1:14550').describe(
    'Local address that receives the frames; one that is not loopback must be in devices.scope.',
  ),
  vehicles: z
    .array(MavlinkVehicleConfig)
    .min(1)
    .max(32)
    .refine(vehicles => new Set(vehicles.map(each => each.system_id)).size === vehicles.length, {
      error: 'each vehicle needs a system_id of its own',
    })
    .describe('The vehicles behind this port.'),
  system_id: SystemId.default(OWN_SYSTEM_ID).describe(
    'System id of this cell in the frames that it sends.',
  ),
  request_telemetry: z
    .boolean()
    .default(true)
    .describe('Ask each vehicle for the messages that the checks need; false to listen only.'),
  heartbeat: z
    .boolean()
    .default(false)
    .describe(
      'Send a heartbeat each second as a ground station. A vehicle whose failsafe watches this ' +
        'system_id acts when the heartbeat ends.',
    ),
})
export type MavlinkLinkConfig = z.infer<typeof MavlinkLinkConfig>
