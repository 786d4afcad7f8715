import fc from 'fast-check'
import t from 'tap'
import {
  checkEnvelope,
  checkRunning,
  type EnvelopeCheck,
} from '../../../devices/envelope/check-envelope.ts'
import {
  dropPlaceLimits,
  mergeEnvelopes,
  type SourcedEnvelope,
} from '../../../devices/envelope/merge-envelopes.ts'
import { isInside, type PlanePoint } from '../../../devices/envelope/plane.ts'
import type { DeviceSnapshot } from '../../../devices/envelope/snapshot.ts'
import { isWindowOpen } from '../../../devices/envelope/time-windows.ts'
import type { PlannedMotion } from '../../../devices/profile.ts'
import copter from '../../../devices/profiles/copter.ts'
import { SHARED_PROPERTIES } from '../../../devices/properties.ts'
import type { PropertyValue } from '../../../shared/wire/device.ts'
import type { SafetyEnvelope } from '../../../shared/wire/safety-envelope.ts'
import { envelopes } from '../../support/envelopes.ts'

/** A Tuesday, at noon. */
const NOW = Date.UTC(2026, 10, 24, 12, 0)

const HALL: [number, number][] = [
  [-10, -10],
  [10, -10],
  [10, 10],
  [-10, 10],
]
const PIT: [number, number][] = [
  [2, -1],
  [4, -1],
  [4, 1],
  [2, 1],
]

const snapshot = (
  values: Record<string, PropertyValue>,
  { deviceId = 'dev_rover', at = NOW } = {},
): DeviceSnapshot => ({
  deviceId,
  properties: SHARED_PROPERTIES,
  state: {
    device_id: deviceId,
    seen_at: at,
    readings: Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, { value, at }]),
    ),
  },
})

const rover = snapshot({
  ...{ battery_percent: 80, link_quality_percent: 90, x_m: 0, y_m: 0, altitude_m: 0 },
  ...{ lat: 52, lon: 13 },
})

const driveTo = (x: number, y: number, altitude_m = 0): PlannedMotion => ({
  path: [{ frame: 'local', x, y, altitude_m }],
  max_speed_m_s: 1,
  max_acceleration_m_s2: 1,
  max_duration_s: 60,
})

const merge = (envelope: SafetyEnvelope, source: SourcedEnvelope['source'] = 'site') =>
  mergeEnvelopes([{ source, envelope }])

const run = (envelope: SafetyEnvelope, changes: Partial<EnvelopeCheck> = {}) =>
  checkEnvelope({
    hazard: 'unsafe',
    envelope: merge(envelope),
    self: rover,
    peers: [],
    now: NOW,
    recentCommands: 0,
    ...changes,
  })

/** Names of the checks that fail. */
const failing = (...given: Parameters<typeof run>): string[] =>
  run(...given).flatMap(({ name, holds }) => (holds ? [] : [name]))

const fenced = (fence: object): SafetyEnvelope => ({ geofences: [{ frame: 'local', ...fence }] })

t.test('a check names what it observed, its limit and the source', async t => {
  const [check] = run({ min_battery_to_start_percent: 90 })
  t.strictSame(check, {
    ...{ name: 'battery_percent', observed: 80, limit: 90, holds: false, source: 'site' },
  })
})

t.test('each limit holds at its value and fails beyond it', async t => {
  const motion = driveTo(1, 0)
  const peer = snapshot({ x_m: 1, y_m: 3, altitude_m: 0 }, { deviceId: 'dev_peer' })
  const seen = { self: snapshot({}, { at: NOW - 1000 }) }
  for (const [at, beyond, changes] of [
    [{ min_battery_to_start_percent: 80 }, { min_battery_to_start_percent: 81 }, {}],
    [{ min_battery_to_continue_percent: 80 }, { min_battery_to_continue_percent: 81 }, {}],
    [{ min_link_quality_percent: 90 }, { min_link_quality_percent: 91 }, {}],
    [{ max_state_age_ms: 1000 }, { max_state_age_ms: 999 }, seen],
    [{ max_speed_m_s: 1 }, { max_speed_m_s: 0.9 }, { motion }],
    [{ max_acceleration_m_s2: 1 }, { max_acceleration_m_s2: 0.9 }, { motion }],
    [{ min_separation_m: 3 }, { min_separation_m: 3.1 }, { motion, peers: [peer] }],
    [{ max_commands_per_minute: 6 }, { max_commands_per_minute: 5 }, { recentCommands: 5 }],
    [fenced({ max_altitude_m: 0 }), fenced({ max_altitude_m: -1 }), { motion }],
    [fenced({ area: HALL }), fenced({ area: PIT }), { motion }],
  ] as [SafetyEnvelope, SafetyEnvelope, Partial<EnvelopeCheck>][]) {
    t.strictSame(failing(at, changes), [], JSON.stringify(at))
    t.equal(failing(beyond, changes).length, 1, JSON.stringify(beyond))
  }
})

t.test('a straight path through a keep-out fails, and one around it holds', async t => {
  const envelope = fenced({ area: HALL, keep_out: [PIT] })
  const around: PlannedMotion = {
    ...driveTo(0, 0),
    path: [...driveTo(3, 3).path, ...driveTo(6, 0).path],
  }
  t.strictSame(failing(envelope, { motion: driveTo(6, 0) }), ['geofence_margin_m'])
  t.strictSame(failing(envelope, { motion: driveTo(3, 0) }), ['geofence_margin_m'], 'into it')
  t.strictSame(failing(envelope, { motion: driveTo(11, 5) }), ['geofence_margin_m'], 'outside')
  t.strictSame(failing(envelope, { motion: around }), [])
  const isGeofenceOverridden = true
  t.strictSame(failing(envelope, { motion: driveTo(6, 0), isGeofenceOverridden }), [])
})

t.test('no point of an admitted path is outside the area or inside a keep-out', async t => {
  const coordinate = fc.integer({ min: -12, max: 12 })
  const point = fc.tuple(coordinate, coordinate)
  const polygon = fc.array(point, { minLength: 3, maxLength: 6 })
  let admitted = 0
  fc.assert(
    fc.property(
      polygon,
      polygon,
      fc.array(point, { minLength: 1, maxLength: 4 }),
      (area, pit, way) => {
        const path = way.map(([x, y]) => ({ frame: 'local' as const, x, y, altitude_m: 0 }))
        const motion = { ...driveTo(0, 0), path }
        if (failing(fenced({ area, keep_out: [pit] }), { motion }).length > 0) return true
        admitted++
        return listPoints([[0, 0], ...way]).every(at => isInside(at, area) && !isInside(at, pit))
      },
    ),
    { numRuns: 20_000 },
  )
  t.ok(admitted > 20, `${admitted} were admitted`)
})

/** Points along a way, close to each other. */
const listPoints = (way: readonly PlanePoint[]): PlanePoint[] =>
  way.flatMap(([x, y], index) => {
    const [fromX, fromY] = way[index - 1] ?? [x, y]
    return Array.from(
      { length: 51 },
      (_, n): PlanePoint => [fromX + ((x - fromX) * n) / 50, fromY + ((y - fromY) * n) / 50],
    )
  })

t.test('an unknown or stale reading stops an unsafe verb, and warns of a milder one', async t => {
  const motion = driveTo(1, 0)
  const peer = snapshot({ x_m: 9, y_m: 9, altitude_m: 0 }, { deviceId: 'dev_peer' })
  const envelope: SafetyEnvelope = {
    ...fenced({ area: HALL, max_altitude_m: 5 }),
    ...{ min_battery_to_start_percent: 20, min_link_quality_percent: 20, max_state_age_ms: 5000 },
    min_separation_m: 1,
  }
  const names = run(envelope, { motion, peers: [peer] }).map(({ name }) => name)
  t.equal(names.length, 6)
  for (const [title, self] of [
    ['no state', { ...rover, state: undefined }],
    ['stale readings', snapshot({ battery_percent: 80, x_m: 0, y_m: 0 }, { at: NOW - 3_600_000 })],
    ['readings of the future', snapshot({ battery_percent: 80, x_m: 0 }, { at: NOW + 60_000 })],
    ['null', snapshot({ battery_percent: null, x_m: null, y_m: null }, { at: NOW - 6000 })],
  ] as const) {
    t.strictSame(failing(envelope, { motion, peers: [peer], self }), names, title)
    const mild = run(envelope, { motion, peers: [peer], self, hazard: 'caution' })
    t.ok(mild.every(({ observed, holds, warning }) => observed !== null || (holds && warning)))
    t.strictSame(run(envelope, { motion, self, hazard: 'safe' }), [], 'a stop is not checked')
  }
  t.strictSame(
    failing({ geofences: [{ frame: 'wgs84', area: HALL }] }, { motion }),
    ['geofence_margin_m'],
    'a plan in another frame than the geofence',
  )
  const lost = { ...peer, state: undefined }
  t.strictSame(failing({ min_separation_m: 1 }, { motion, peers: [lost] }), ['separation_m'])
})

t.test('an unsafe verb that fails does not pass with fewer readings', async () => {
  const names = Object.keys(rover.state?.readings ?? {})
  fc.assert(
    fc.property(envelopes, fc.subarray(names), (envelope, lost) => {
      const motion = driveTo(3, 3)
      const readings = Object.entries(rover.state?.readings ?? {})
      const known = readings.filter(([name]) => !lost.includes(name))
      const self = snapshot(Object.fromEntries(known.map(([name, { value }]) => [name, value])))
      const before = failing(envelope, { motion })
      const after = failing(envelope, { motion, self })
      return before.every(name => after.includes(name))
    }),
  )
})

t.test('each source admits what the merged limits admit', async () => {
  fc.assert(
    fc.property(envelopes, envelopes, (one, other) => {
      const motion = driveTo(3, 3)
      const merged = mergeEnvelopes([
        { source: 'fleet', envelope: one },
        { source: 'device', envelope: other },
      ])
      const isAdmitted = (envelope: EnvelopeCheck['envelope']) =>
        run({}, { envelope, motion, recentCommands: 3 }).every(({ holds }) => holds)
      return !isAdmitted(merged) || (isAdmitted(merge(one)) && isAdmitted(merge(other)))
    }),
  )
})

t.test('a motion without a known end must fit with all of its reach', async t => {
  const open = { ...driveTo(0, 0), path: [], max_duration_s: 5 }
  t.strictSame(failing(fenced({ area: HALL }), { motion: open }), [])
  const long = { ...open, max_duration_s: 15 }
  t.strictSame(failing(fenced({ area: HALL }), { motion: long }), ['geofence_margin_m'])
  t.strictSame(failing(fenced({ area: HALL }), { motion: { ...long, reach_m: 2 } }), [])
  const [mild] = run(fenced({ area: HALL }), { motion: long, hazard: 'caution' })
  t.match(mild, { holds: true, warning: /up to 15 m/ })
  const rises = { ...open, reach_m: 0, end_altitude_m: 6 }
  t.strictSame(failing(fenced({ max_altitude_m: 5 }), { motion: rises }), ['altitude_m'])
})

t.test('areas on the globe are measured in metres, also across the antimeridian', async t => {
  const around = (lat: number, lon: number, degrees: number): [number, number][] => [
    [lat - degrees, lon - degrees],
    [lat - degrees, lon + degrees],
    [lat + degrees, lon + degrees],
    [lat + degrees, lon - degrees],
  ]
  const fence = (area: [number, number][]) => ({ geofences: [{ frame: 'wgs84' as const, area }] })
  const flyTo = (lat: number, lon: number): PlannedMotion => ({
    ...driveTo(0, 0),
    path: [{ frame: 'wgs84', x: lat, y: lon, altitude_m: 10 }],
  })
  const [check] = run(fence(around(52, 13, 0.001)), { motion: flyTo(52.0005, 13) })
  t.match(check, { holds: true })
  t.ok(Math.abs(Number(check?.observed) - 55.6) < 0.5, `${check?.observed} m to the border`)
  const self = snapshot({ lat: 0, lon: 179.9995, altitude_m: 0 })
  const area = around(0, 180, 0.001)
  t.strictSame(failing(fence(area), { self, motion: flyTo(0, -179.9995) }), [])
  t.strictSame(failing(fence(area), { self, motion: flyTo(0, -179.9985) }), ['geofence_margin_m'])
})

t.test(
  'the way back to the launch is checked at its altitude, and refused while unknown',
  async t => {
    const { x_m: _, y_m: __, ...globe } = SHARED_PROPERTIES
    const properties = {
      ...globe,
      launch_lat: SHARED_PROPERTIES.lat,
      launch_lon: SHARED_PROPERTIES.lon,
    }
    const at = (values: Record<string, PropertyValue>) => ({
      ...snapshot({ lat: 52, lon: 13, altitude_m: 5, battery_percent: 80, ...values }),
      properties,
    })
    const self = at({ launch_lat: 52.001, launch_lon: 13 })
    const motion: PlannedMotion = {
      path: [],
      launch: { frame: 'wgs84', x: 'launch_lat', y: 'launch_lon', altitude_m: 15 },
      max_speed_m_s: 10,
      max_duration_s: 900,
    }
    const back = { motion, hazard: 'caution' as const }
    const zone = (south: number, north: number): [number, number][] => [
      [south, 12.999],
      [south, 13.001],
      [north, 13.001],
      [north, 12.999],
    ]
    const fence = (limits: object) => ({ geofences: [{ frame: 'wgs84' as const, ...limits }] })
    const find = (limits: object, check: object) => failing(fence(limits), { ...back, ...check })
    t.strictSame(find({ area: zone(51.9, 52.1) }, { self }), [])
    const between = { keep_out: [zone(52.0004, 52.0006)] }
    t.strictSame(find(between, { self }), ['geofence_margin_m'], 'the straight way')
    t.strictSame(find({ max_altitude_m: 12 }, { self }), ['altitude_m'], 'its altitude')
    const above = { lat: 52.0005, lon: 13, altitude_m: 15 }
    const peer = { ...snapshot(above, { deviceId: 'dev_peer' }), properties }
    const apart = failing({ min_separation_m: 3 }, { ...back, self, peers: [peer] })
    t.strictSame(apart, ['separation_m'])
    t.strictSame(find({}, { self: at({}) }), ['launch_position'], 'also for a caution verb')
    const stale = snapshot({ lat: 52, launch_lat: 52 }, { at: NOW - 3_600_000 })
    t.strictSame(find({}, { self: { ...stale, properties } }), ['launch_position'])
  },
)

/** Addressing of a copter at its link. */
const COPTER_OPTIONS = {
  ...{ system_id: 1, component_id: 1, return_altitude_m: 15, return_speed_m_s: 8 },
  ...{ vehicle_type: 'quadrotor', autopilot: 'ardupilot', vehicle_class: 'copter' },
  can_hover: true,
}

t.test('a return with a low battery warns, and may land below the least altitude', async t => {
  const { x_m: _, y_m: __, ...properties } = SHARED_PROPERTIES
  const { lat, lon } = properties
  const at = (values: Record<string, PropertyValue>) => ({
    ...snapshot({ battery_percent: 12, launch_lat: 52.001, launch_lon: 13, ...values }),
    properties: { ...properties, launch_lat: lat, launch_lon: lon },
  })
  const target = { device_id: 'dev_copter', options: COPTER_OPTIONS, envelope: {} }
  const verbs = [copter.verbs['return-to-launch'], copter.verbs['set-mode']]
  const envelope = merge({
    ...{ min_battery_to_start_percent: 30, min_battery_to_continue_percent: 20, max_speed_m_s: 8 },
    geofences: [{ frame: 'wgs84', min_altitude_m: 10, max_altitude_m: 40 }],
  })
  for (const motion of verbs.map(verb => verb?.plan({ mode: 'rtl' }, target).motion)) {
    const base = { hazard: 'caution' as const, envelope, motion, peers: [], now: NOW }
    const find = (self: DeviceSnapshot, check: typeof checkEnvelope) =>
      check({ ...base, self, recentCommands: 0 }).filter(({ holds, warning }) => !holds || warning)
    const away = at({ lat: 52, lon: 13, altitude_m: 20 })
    const warned = [{ name: 'battery_percent', observed: 12, holds: true, warning: String }]
    t.match(find(away, checkEnvelope), warned)
    t.match(find(away, checkRunning), warned)
    const landing = at({ lat: 52.00101, lon: 13, altitude_m: 1 })
    t.match(find(landing, checkRunning), warned, 'it lands at its launch')
    const low = at({ lat: 52, lon: 13, altitude_m: 1 })
    t.match(find(low, checkRunning), [{ name: 'altitude_m', holds: false }, ...warned])
    const high = at({ lat: 52.001, lon: 13, altitude_m: 41 })
    t.match(find(high, checkEnvelope), [{ name: 'altitude_m', holds: false }, ...warned])
    t.match(find(high, checkRunning), [{ name: 'altitude_m', holds: false }, ...warned])
  }
  const own = { battery_percent: 12, lat: 52, lon: 13, altitude_m: 20 }
  t.strictSame(failing({ min_battery_to_start_percent: 30 }, { self: at(own) }), [
    'battery_percent',
  ])
})

t.test('interlocks are checked, and a device without a battery has no limit of one', async t => {
  const interlocks = [
    { name: 'is_slow', property: 'speed_m_s', max: 0.1 },
    { name: 'faces_east', property: 'heading_degrees', min: 80, max: 100 },
  ]
  const self = snapshot({ speed_m_s: 0.2, heading_degrees: 90 })
  t.strictSame(failing({}, { interlocks, self }), ['is_slow'])
  t.strictSame(failing({}, { interlocks }), ['is_slow', 'faces_east'], 'unknown')
  const { battery_percent, ...properties } = SHARED_PROPERTIES
  const wired = { ...self, properties }
  t.strictSame(run({ min_battery_to_start_percent: 90 }, { self: wired }), [])
})

t.test('a refused value fails, an unknown one holds, and a watched one ends a motion', async t => {
  const interlocks = [
    { name: 'healthy', property: 'is_healthy', refused: [false], isWatched: true as const },
    { name: 'ready', property: 'is_ready', refused: [false] },
  ]
  const property = { title: 'Fine', type: 'boolean' as const, stale_after_ms: 5000 }
  const properties = { ...SHARED_PROPERTIES, is_healthy: property, is_ready: property }
  const at = (values: Record<string, PropertyValue>) => ({ ...snapshot(values), properties })
  t.strictSame(failing({}, { interlocks, self: at({}) }), [])
  const ill = at({ is_healthy: false, is_ready: false })
  t.strictSame(failing({}, { interlocks, self: ill }), ['healthy', 'ready'])
  const base = { hazard: 'unsafe' as const, envelope: merge({}), peers: [], now: NOW }
  const running = checkRunning({ ...base, interlocks, self: ill, recentCommands: 0 })
  t.match(running, [{ name: 'healthy', holds: false }])
})

t.test('a battery has its limits in volts, too', async t => {
  const properties = {
    ...SHARED_PROPERTIES,
    battery_volts: { title: 'Voltage', type: 'number' as const, stale_after_ms: 5000 },
  }
  const self = { ...snapshot({ battery_volts: 14.1 }), properties }
  t.strictSame(failing({ min_battery_to_start_volts: 14.2 }, { self }), ['battery_volts'])
  t.strictSame(failing({ min_battery_to_continue_volts: 14.2 }, { self }), ['battery_volts'])
  t.strictSame(failing({ min_battery_to_start_volts: 14 }, { self }), [])
})

t.test('motors on the ground are stopped whatever the fence and the battery say', async t => {
  const strict = merge({
    ...fenced({ area: HALL }),
    ...{ min_battery_to_start_percent: 90, min_separation_m: 9, min_battery_to_start_volts: 99 },
    max_commands_per_minute: 1,
  })
  const self = snapshot({ battery_percent: 1, x_m: 500, y_m: 500, altitude_m: 0 })
  const base = { hazard: 'unsafe' as const, self, peers: [], now: NOW, recentCommands: 9 }
  const names = checkEnvelope({ ...base, envelope: dropPlaceLimits(strict) }).map(each => each.name)
  t.strictSame(names, ['commands_per_minute'])
  t.equal(copter.verbs.disarm?.isExemptFromPlace, true)
})

t.test('one window of each list must be open', async t => {
  const window = (from: string, to: string, days = ['tue']) => ({ days: days as ['tue'], from, to })
  t.strictSame(
    failing({ time_windows: [[window('08:00', '12:00'), window('12:00', '18:00')]] }),
    [],
  )
  t.strictSame(
    failing({ time_windows: [[window('08:00', '18:00')], [window('08:00', '12:00')]] }),
    ['time_window'],
  )
  const night = window('22:00', '06:00')
  const at = (day: number, hour: number) => Date.UTC(2026, 10, day, hour)
  for (const [day, hour, isOpen] of [
    [24, 21, false],
    [24, 22, true],
    [25, 5, true],
    [25, 6, false],
    [24, 5, false],
  ] as const)
    t.equal(isWindowOpen(night, at(day, hour)), isOpen, `day ${day}, ${hour}:00`)
  t.equal(isWindowOpen(window('00:00', '24:00'), at(24, 23)), true)
})

t.test('a running motion ends at its own battery limit, and where it is', async t => {
  const envelope = merge({
    ...fenced({ area: HALL, keep_out: [PIT] }),
    ...{ min_battery_to_start_percent: 90, min_battery_to_continue_percent: 20 },
  })
  const look = (self: DeviceSnapshot) =>
    checkRunning({
      ...{ hazard: 'unsafe' as const, envelope, self, peers: [], now: NOW, recentCommands: 99 },
      motion: driveTo(6, 0),
    }).flatMap(({ name, holds }) => (holds ? [] : [name]))
  t.strictSame(look(rover), [], 'its path was checked before')
  t.strictSame(look(snapshot({ battery_percent: 19, x_m: 0, y_m: 0, altitude_m: 0 })), [
    'battery_percent',
  ])
  t.strictSame(look(snapshot({ battery_percent: 80, x_m: 3, y_m: 0, altitude_m: 0 })), [
    'geofence_margin_m',
  ])
})
