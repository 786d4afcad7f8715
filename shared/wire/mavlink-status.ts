import * as z from 'zod'

/** Name of the question to a cell for the status of a vehicle that speaks MAVLink. */
export const MAVLINK_STATUS = 'mavlink-status'

/** Longest time for the answer, in seconds: the cell listens for a part of it. */
export const MAVLINK_STATUS_SECONDS = 12

/** Input of the question; the cell checks the grammar and the scope of the address. */
export const MavlinkStatusInput = z.strictObject({
  connection: z
    .string()
    .max(300)
    .regex(/^udp:.{1,260}:[0-9]{1,5}$/, { error: 'must be udp:HOST:PORT' })
    .default('udp:127.0.0.1:14550')
    .describe('Address of the cell that receives the frames: udp:HOST:PORT.'),
})
export type MavlinkStatusInput = z.infer<typeof MavlinkStatusInput>

const Num = z.number().nullable()
const Word = z.string().max(64).nullable()

/** Status of a vehicle as its cell sees it; null for what the vehicle has not reported. */
export const MavlinkStatusAnswer = z.object({
  /** False when no vehicle was heard; `reason` says why, and the other fields are null. */
  available: z.boolean(),
  reason: z.string().max(500).nullable(),
  /** Source of the status: a configured link of the cell, or a few seconds of listening. */
  source: z.enum(['link', 'listening']).nullable(),
  system_id: z.int().nullable(),
  vehicle_type: Word,
  autopilot: Word,
  armed: z.boolean().nullable(),
  mode: Word,
  system_status: Word,
  battery_percent: Num,
  battery_volts: Num,
  gps_fix: Word,
  satellites: Num,
  hdop: Num,
  lat: Num,
  lon: Num,
  /** Altitude above the place of take-off. */
  altitude_m: Num,
  speed_m_s: Num,
  heading_degrees: Num,
  link_quality_percent: Num,
  /** Newest text of severity warning or worse. */
  warning: z.string().max(256).nullable(),
  heartbeat_age_ms: Num,
  observed_at: z.iso.datetime().nullable().describe("Time of the status, by the cell's clock."),
})
export type MavlinkStatusAnswer = z.infer<typeof MavlinkStatusAnswer>
