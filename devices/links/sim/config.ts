import * as z from 'zod'
import { SafetyEnvelope } from '../../../shared/wire/safety-envelope.ts'
import { SimFaults } from './faults.ts'

const Metres = z.number().min(-10_000).max(10_000)

/** A simulated device. */
export const SimDeviceConfig = z.strictObject({
  name: z.string().min(1).max(64).describe('Name of the device, and its identity on the cell.'),
  profile: z
    .enum(['sim-rover', 'sim-drone', 'sim-printer', 'sim-switch'])
    .describe('Kind of device.'),
  site: z.string().min(1).max(64).exactOptional().describe('Site, instead of that of the cell.'),
  x_m: Metres.default(0).describe('Initial position, and the place of its dock.'),
  y_m: Metres.default(0).describe('Initial position, and the place of its dock.'),
  battery_percent: z.number().min(0).max(100).default(100).describe('Initial charge.'),
  battery_metres: z
    .number()
    .positive()
    .max(1e6)
    .default(2000)
    .describe('Distance on a full battery.'),
  envelope: SafetyEnvelope.exactOptional().describe('Limits of this device.'),
  faults: SimFaults.prefault({}).describe('Failures of this device.'),
})
export type SimDeviceConfig = z.infer<typeof SimDeviceConfig>

/** Devices that exist only in the memory of the daemon, for demonstrations and tests. */
export const SimLinkConfig = z.strictObject({
  kind: z.literal('sim'),
  seed: z.int().min(0).default(1).describe('Seed of everything random; equal seeds act alike.'),
  tick_ms: z.int().min(10).max(10_000).default(200).describe('Time between two steps.'),
  time_factor: z
    .number()
    .positive()
    .max(100)
    .default(1)
    .describe('Simulated seconds that pass in one second.'),
  devices: z.array(SimDeviceConfig).max(256).default([]).describe('The simulated devices.'),
})
export type SimLinkConfig = z.infer<typeof SimLinkConfig>
