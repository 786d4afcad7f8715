import * as z from 'zod'
import { EstopBehaviour } from '../../../shared/wire/device.ts'

/** Limits of the simulated bodies; the schemas of their verbs refuse what is beyond. */
export const ROVER = { max_speed_m_s: 1.5, max_acceleration_m_s2: 1 } as const
export const DRONE = { max_speed_m_s: 5, max_acceleration_m_s2: 3 } as const
export const MAX_COORDINATE_M = 10_000
export const MAX_ALTITUDE_M = 120

const Coordinate = z.number().min(-MAX_COORDINATE_M).max(MAX_COORDINATE_M)
const Speed = z.number().positive().max(DRONE.max_speed_m_s)
const Altitude = z.number().min(0).max(MAX_ALTITUDE_M)
const Temperature = z.number().min(0).max(300)

/** One line of machine code, such as `G28`. */
export const GCODE_LINE = /^[A-Z][0-9]{1,4}( [A-Z]-?[0-9]{1,6}(\.[0-9]{1,4})?){0,8}$/
/** Name of a print file, without a folder. */
export const FILE_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/

/** Operation of a simulated device; its plans consist of these. */
export const SimOperation = z.discriminatedUnion('op', [
  z.strictObject({
    op: z.literal('go'),
    x_m: Coordinate,
    y_m: Coordinate,
    altitude_m: Altitude,
    speed_m_s: Speed,
  }),
  z.strictObject({
    op: z.literal('drive'),
    heading_degrees: z.number().min(0).max(360),
    speed_m_s: Speed,
    duration_s: z.number().positive().max(60),
  }),
  z.strictObject({ op: z.literal('dock'), speed_m_s: Speed }),
  z.strictObject({ op: z.literal('arm') }),
  z.strictObject({ op: z.literal('take-off'), altitude_m: Altitude, speed_m_s: Speed }),
  z.strictObject({ op: z.literal('halt'), behaviour: EstopBehaviour }),
  z.strictObject({
    op: z.literal('print'),
    file: z.string().regex(FILE_NAME),
    nozzle_celsius: Temperature,
    bed_celsius: Temperature,
    duration_s: z.number().positive().max(86_400),
  }),
  z.strictObject({ op: z.literal('pause') }),
  z.strictObject({ op: z.literal('resume') }),
  z.strictObject({ op: z.literal('cancel') }),
  z.strictObject({ op: z.literal('gcode'), line: z.string().regex(GCODE_LINE) }),
  z.strictObject({ op: z.literal('switch'), on: z.boolean() }),
])
export type SimOperation = z.infer<typeof SimOperation>
