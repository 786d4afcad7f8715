import * as z from 'zod'

const Positive = z.number().positive().max(1e6)
const Percent = z.number().min(0).max(100)

/** Most geofences, and most lists of time windows, of one source. */
const MAX_GEOFENCES = 8
const MAX_WINDOW_LISTS = 4

/** Point of a polygon: `[x_m, y_m]` in a local frame, `[lat, lon]` in degrees on the globe. */
const Vertex = z.tuple([z.number().min(-1e7).max(1e7), z.number().min(-1e7).max(1e7)])
const Polygon = z.array(Vertex).min(3).max(64)

/**
 * Frame of positions: `local` is metres on the floor of a site, `wgs84` degrees of latitude and
 * longitude with metres above the place of take-off.
 */
export const Frame = z.enum(['local', 'wgs84'])
export type Frame = z.infer<typeof Frame>

export const Geofence = z.strictObject({
  frame: Frame,
  /** Area that a device must not leave. */
  area: Polygon.exactOptional(),
  /** Areas that it must not enter. */
  keep_out: z.array(Polygon).max(16).exactOptional(),
  min_altitude_m: z.number().min(-1000).max(100_000).exactOptional(),
  max_altitude_m: z.number().min(-1000).max(100_000).exactOptional(),
})
export type Geofence = z.infer<typeof Geofence>

/** Times at which unsafe verbs may run: `{days: ['mon'], from: '08:00', to: '17:30'}`, UTC. */
export const TimeWindow = z.strictObject({
  days: z
    .array(z.enum(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']))
    .min(1)
    .max(7),
  from: z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/),
  to: z.string().regex(/^(([01]\d|2[0-3]):[0-5]\d|24:00)$/),
})
export type TimeWindow = z.infer<typeof TimeWindow>

const WindowList = z.array(TimeWindow).min(1).max(16)

/**
 * Limits within which a device may act. Absent means no limit from this source; several sources are
 * merged to the most restrictive.
 */
export const SafetyEnvelope = z.strictObject({
  /** All of them must hold. */
  geofences: z.array(Geofence).max(MAX_GEOFENCES).exactOptional(),
  max_speed_m_s: Positive.exactOptional(),
  max_acceleration_m_s2: Positive.exactOptional(),
  min_battery_to_start_percent: Percent.exactOptional(),
  /** A running motion ends below this. */
  min_battery_to_continue_percent: Percent.exactOptional(),
  min_battery_to_start_volts: Positive.exactOptional(),
  /** A running motion ends below this. */
  min_battery_to_continue_volts: Positive.exactOptional(),
  max_state_age_ms: z.int().positive().max(3_600_000).exactOptional(),
  min_link_quality_percent: Percent.exactOptional(),
  /** Least distance to every other device of the site with a position. */
  min_separation_m: Positive.exactOptional(),
  /** One window of each list must be open. */
  time_windows: z.array(WindowList).max(MAX_WINDOW_LISTS).exactOptional(),
  /** Most unsafe or caution verbs in a minute. */
  max_commands_per_minute: z.int().positive().max(6000).exactOptional(),
})
export type SafetyEnvelope = z.infer<typeof SafetyEnvelope>

/** Sources of limits, the widest first. `cell` is the configuration of the cell itself. */
export const EnvelopeSource = z.enum(['fleet', 'site', 'cell', 'profile', 'device', 'verb'])
export type EnvelopeSource = z.infer<typeof EnvelopeSource>

const SOURCES = EnvelopeSource.options.length

/** Limits of all sources of a device, merged to the most restrictive. */
export const MergedSafetyEnvelope = SafetyEnvelope.extend({
  geofences: z
    .array(Geofence)
    .max(SOURCES * MAX_GEOFENCES)
    .exactOptional(),
  time_windows: z
    .array(WindowList)
    .max(SOURCES * MAX_WINDOW_LISTS)
    .exactOptional(),
})

/** Most characters of all shared limits as JSON: a cell reports them with its settings in force. */
const MAX_SHARED_LENGTH = 8192
/** Most sites with limits of their own. */
const MAX_SITES = 64

/** Limits of the fleet and of sites, as the coordinator sets them. */
export const SharedEnvelopes = z
  .strictObject({
    fleet: SafetyEnvelope.exactOptional(),
    /** Limits by name of the site. */
    sites: z
      .record(z.string().min(1).max(64), SafetyEnvelope)
      .refine(sites => Object.keys(sites).length <= MAX_SITES, { error: `over ${MAX_SITES} sites` })
      .meta({ maxProperties: MAX_SITES })
      .exactOptional(),
  })
  .refine(envelopes => JSON.stringify(envelopes).length <= MAX_SHARED_LENGTH, {
    error: `more than ${MAX_SHARED_LENGTH} characters`,
  })
export type SharedEnvelopes = z.infer<typeof SharedEnvelopes>

/** Limits that a cell has from the coordinator; unreadable ones may forbid anything. */
export type ReceivedEnvelopes = SharedEnvelopes | 'unreadable'
