import fc from 'fast-check'
import type { SafetyEnvelope } from '../../shared/wire/safety-envelope.ts'

const percent = fc.integer({ min: 0, max: 100 })
const positive = fc.integer({ min: 1, max: 20 })
const vertex = fc.tuple(fc.integer({ min: -9, max: 9 }), fc.integer({ min: -9, max: 9 }))
const polygon = fc.array(vertex, { minLength: 3, maxLength: 5 })
const geofence = fc.record(
  {
    frame: fc.constantFrom('local' as const, 'wgs84' as const),
    area: polygon,
    keep_out: fc.array(polygon, { maxLength: 2 }),
    min_altitude_m: fc.integer({ min: -5, max: 5 }),
    max_altitude_m: fc.integer({ min: 0, max: 50 }),
  },
  { requiredKeys: ['frame'] },
)
const hour = fc.integer({ min: 0, max: 23 }).map(n => `${String(n).padStart(2, '0')}:00`)
const timeWindow = fc.record({
  days: fc.uniqueArray(fc.constantFrom('mon' as const, 'tue' as const, 'sun' as const), {
    minLength: 1,
  }),
  from: hour,
  to: hour,
})

/** Any limits, small enough that sources often share some. */
export const envelopes: fc.Arbitrary<SafetyEnvelope> = fc.record(
  {
    geofences: fc.array(geofence, { maxLength: 2 }),
    max_speed_m_s: positive,
    max_acceleration_m_s2: positive,
    min_battery_to_start_percent: percent,
    min_battery_to_continue_percent: percent,
    max_state_age_ms: fc.integer({ min: 1, max: 5000 }),
    min_link_quality_percent: percent,
    min_separation_m: positive,
    time_windows: fc.array(fc.array(timeWindow, { minLength: 1, maxLength: 2 }), { maxLength: 2 }),
    max_commands_per_minute: positive,
  },
  { requiredKeys: [] },
)
