import t from 'tap'
import type { Device } from '../../../../coordinator/devices/inventory/device.table.ts'
import type { DeviceReadings } from '../../../../coordinator/devices/inventory/device-states.ts'
import { SwarmConfig } from '../../../../coordinator/devices/swarm/config.ts'
import {
  requireFreeWays,
  requireKnownPlaces,
} from '../../../../coordinator/devices/swarm/feasibility.ts'
import { findIntrusion } from '../../../../coordinator/devices/swarm/find-intrusion.ts'
import type { FormationState } from '../../../../coordinator/devices/swarm/formation.table.ts'
import { judgeFormation } from '../../../../coordinator/devices/swarm/formation.ts'
import {
  type Candidate,
  isExclusion,
  isUnit,
  judgeCandidate,
} from '../../../../coordinator/devices/swarm/members.ts'
import { planSwarm } from '../../../../coordinator/devices/swarm/plan-swarm.ts'
import type { Cell } from '../../../../coordinator/fleet/cells/cell.ts'
import type { CommandState } from '../../../../coordinator/fleet/control/command.ts'
import { CAPABILITY, NEEDS } from '../../../../shared/wire/capability.ts'
import type { FormationParams } from '../../../../shared/wire/formation.ts'

const START = 100_000
const END = 110_000

const judge = (states: CommandState[], now: number, state: FormationState = 'running') =>
  judgeFormation(
    { state, startAt: START, endsAt: END, changedAt: START },
    states.map((each, index) => ({ cellId: `cell-${index}`, state: each })),
    now,
  )

t.test('a formation goes on only while every cell does', async t => {
  t.strictSame(judge(['executing', 'sent'], START - 2000), { do: 'nothing' })
  t.strictSame(judge(['executing', 'executing'], START + 5000), { do: 'nothing' })
  t.match(judge(['executing', 'sent'], START - 500), {
    do: 'abort',
    reason: 'cell-1 has not accepted before the start',
  })
  t.match(judge(['rejected', 'executing'], START - 5000), { do: 'abort', reason: /^cell-0/ })
  t.match(judge(['executing', 'unknown'], START + 5000), { do: 'abort', reason: /^cell-1/ })
  t.match(judge(['executing', 'succeeded'], END + 31_000), { do: 'abort' })
  t.strictSame(judge(['succeeded', 'succeeded'], END), { do: 'end', hasReported: true })
})

t.test('an abort stops units until every cell has reported, or for half a minute', async t => {
  t.strictSame(judge(['executing', 'failed'], START + 1000, 'aborting'), { do: 'stop' })
  t.strictSame(judge(['failed', 'failed'], START + 1000, 'aborting'), {
    do: 'end',
    hasReported: true,
  })
  t.strictSame(judge(['executing', 'failed'], START + 31_000, 'aborting'), {
    do: 'end',
    hasReported: false,
  })
})

const createCandidate = (
  values: Record<string, unknown>,
  changes: Partial<Candidate> = {},
): Candidate => ({
  device: {
    id: 'dev_1',
    cellId: 'cell_1',
    isAvailable: true,
    facts: {
      name: 'rover-1',
      profile: 'rover',
      site: 'hall',
      available: true,
      reason: null,
      writable: true,
      envelope: { min_battery_to_start_percent: 20, max_speed_m_s: 0.3 },
    },
  } as unknown as Device,
  readings: {
    seenAt: 0,
    readings: new Map(
      Object.entries(values).map(([name, value]) => [name, { value, at: 0, isStale: value === 7 }]),
    ),
  } as DeviceReadings,
  verbs: ['move-to'],
  level: CAPABILITY,
  estop: undefined,
  isInFormation: false,
  ...changes,
})

t.test('a device that cannot take part is left out with the reason', async t => {
  const fit = { x_m: 1, y_m: 2, battery_percent: 50 }
  const config = SwarmConfig.parse({})
  const unit = judgeCandidate(createCandidate(fit), 'hall', config)
  t.match(unit, { place: { x: 1, y: 2, altitude_m: 0 }, max_speed_m_s: 0.3 })
  for (const [reason, candidate] of [
    ['not_movable', createCandidate(fit, { verbs: ['stop'] })],
    ['unavailable', createCandidate(fit, { verbs: undefined })],
    ['estop', createCandidate(fit, { estop: 'smoke' })],
    ['busy', createCandidate(fit, { isInFormation: true })],
    ['busy', createCandidate({ ...fit, speed_m_s: 1 })],
    ['battery', createCandidate({ ...fit, battery_percent: 19 })],
    ['battery', createCandidate({ x_m: 1, y_m: 2 })],
    ['stale_pose', createCandidate({ ...fit, x_m: 7 })],
    ['no_position', createCandidate({ battery_percent: 50 })],
    ['other_frame', createCandidate({ lat: 50, lon: 8, battery_percent: 50 })],
    ['not_flying', createCandidate({ ...fit, is_flying: false })],
  ] as const) {
    const judged = judgeCandidate(candidate, 'hall', config)
    t.ok(isExclusion(judged))
    t.match(judged, { reason })
  }
  t.match(judgeCandidate(createCandidate(fit), 'yard', config), { reason: 'other_site' })
})

t.test('a vehicle on the globe takes part by the origin of its site', async t => {
  const config = SwarmConfig.parse({ origins: { hall: { lat: 50, lon: 8 } } })
  const globe = (lat: number, more: object = {}, kind = 'drone') => {
    const values = { lat, lon: 8, altitude_m: 12, battery_percent: 50, is_armed: true, ...more }
    const { device, ...candidate } = createCandidate(values, { verbs: ['go-to'] })
    const speeds = { min_m_s: 0.25, max_m_s: 20 }
    return { ...candidate, device: { ...device, kind } as Device, speeds }
  }
  const judge = (candidate: Candidate, settings = config) =>
    judgeCandidate(candidate, 'hall', settings)
  const unit = judge(globe(50.001, { speed_m_s: 0.3 }))
  t.match(unit, { frame: 'wgs84', min_speed_m_s: 0.25, max_speed_m_s: 0.3, radius_m: 0.5 })
  t.match(unit, { place: { x: 0, y: 111.229, altitude_m: 12 } })
  for (const [reason, candidate] of [
    ['busy', globe(50, { speed_m_s: 0.6 })],
    ['not_flying', globe(50, { is_armed: false })],
    ['other_site', globe(51)],
    ['stale_pose', globe(7)],
    ['no_position', globe(Number.NaN)],
  ] as const)
    t.match(judge(candidate), { reason, isUnseen: !['busy', 'not_flying'].includes(reason) })
  const older = judge({ ...globe(50.001), level: NEEDS.globe - 1 })
  t.match(older, { reason: 'other_frame', message: /update its daemon/ })
  const plane = globe(50)
  Object.assign(plane.device.facts, { profile: 'plane' })
  t.match(judge(plane), { reason: 'not_movable', message: /circles/ })
  t.match(judge(globe(50), SwarmConfig.parse({})), { reason: 'other_frame', isUnseen: true })

  const rover = judge(globe(50.002, { is_armed: false }, 'robot'))
  const units = [unit, rover].filter(isUnit).map((one, index) => {
    const id = `dev_${index}`
    return { ...one, device_id: id, device: { ...one.device, id } }
  })
  const request = { formation: 'line' as const, spacing_m: 20, site: 'hall' }
  const planned = planSwarm(units, [], request, config)
  const params = { position_m: 2, skew_ms: 2000, origin: { lat: 50, lon: 8 } }
  t.match(planned, { position_m: 2, origin: params.origin, cells: [{ params }] })
  const local = judgeCandidate(
    createCandidate({ x_m: 9, y_m: 9, battery_percent: 50 }),
    'hall',
    config,
  )
  t.match(planSwarm([local].filter(isUnit), [], request, config), { position_m: 0.1 })
})

const [device_id, cell_id] = ['dev_1', 'cell_1']
const MOVES = [
  { device_id, from: [0, 0, 0], to: [4, 0, 0], speed_m_s: 0.5, delay_s: 0 },
] as FormationParams['stages'][number]['moves']
const PLAN = {
  formation: 'line',
  cells: [{ cell_id, params: { stages: [{ begins_s: 0, duration_s: 8, moves: MOVES }] } }],
  units: [{ device_id, cell_id, name: 'rover-1', slot: [4, 0] }],
  required_m: 0.4,
  position_m: 0.1,
}

t.test('a plan is refused while a device that is no part of it stands in the way', t => {
  const createOther = (y: number) => ({
    device: { id: 'dev_2', facts: { name: 'rover-2' } } as Device,
    place: { x: 2, y },
  })
  const own = { ...createOther(0), device: createCandidate({}).device }
  t.doesNotThrow(() => requireFreeWays(PLAN, [own, createOther(0.61), { device: own.device }]))
  t.throws(() => requireFreeWays(PLAN, [own, createOther(0.59)]), {
    code: 'conflict',
    message: /rover-2 \(dev_2\) is 0\.39 m from the way of rover-1 .* 0\.40 m is required/,
  })
  t.end()
})

t.test('a plan is refused while the place of an available robot is unknown', t => {
  const judged = (values: Record<string, unknown>, changes: Partial<Device>, verbs?: string[]) => {
    const { device, ...candidate } = createCandidate(values)
    const other = { ...candidate, device: { ...device, kind: 'robot' as const, ...changes }, verbs }
    return [judgeCandidate(other, 'hall', SwarmConfig.parse({}))].filter(isExclusion)
  }
  const refusal = {
    code: 'cell_unavailable',
    message: /rover-1 \(dev_1\) .*cell_1 is not connected/,
  }
  t.throws(() => requireKnownPlaces(judged({}, {})), refusal, 'its cell is connected elsewhere')
  for (const [title, values] of [
    ['stale', { x_m: 7, y_m: 2 }],
    ['on the globe', { lat: 50, lon: 8 }],
  ] as const)
    t.throws(() => requireKnownPlaces(judged(values, { kind: 'drone' }, ['stop'])), title)
  t.doesNotThrow(() => requireKnownPlaces(judged({ x_m: 1, y_m: 2 }, {}, ['stop'])), 'an obstacle')
  t.doesNotThrow(() => requireKnownPlaces(judged({}, { isAvailable: false })), 'switched off')
  t.doesNotThrow(() => requireKnownPlaces(judged({}, { kind: 'printer' })), 'it stays')
  t.end()
})

t.test('a device that comes too close to a formation under way is found', t => {
  const unit = createCandidate({}).device
  /** Looks with the unit and another device at these places; unknown ones are undefined. */
  const look = (
    elapsedMs: number,
    places: { own?: [number, number]; other?: [number, number] },
    { site = 'hall', presence = 'ready' } = {},
  ) => {
    const other = { ...unit, id: 'dev_2', facts: { ...unit.facts, name: 'visitor', site } }
    const known = new Map([
      [unit.id, places.own],
      [other.id, places.other],
    ])
    const state = ({ id }: Pick<Device, 'id'>) => {
      const [x_m, y_m] = known.get(id) ?? []
      return x_m === undefined ? undefined : createCandidate({ x_m, y_m }).readings
    }
    const devices = { get: () => unit, list: () => [unit, other], state }
    const fleet = { cell: () => ({ presence }) as Cell }
    return findIntrusion({ plan: PLAN, startAt: START }, START + elapsedMs, { devices, fleet })
  }
  t.equal(look(1000, { other: [2, 0.61] }), undefined)
  t.match(look(1000, { other: [2, 0.59] }), /^visitor \(dev_2\) is 0\.39 m from the way of rover-1/)
  t.match(look(-1000, { other: [2, 0.59] }), /^visitor/, 'also before the start')
  t.equal(look(1000, {}), undefined, 'an unknown place is not judged')
  t.equal(look(1000, { other: [2, 0] }, { site: 'yard' }), undefined, 'another site')
  t.equal(look(1000, { other: [2, 0] }, { presence: 'dead' }), undefined, 'its cell is elsewhere')
  t.equal(look(9000, { other: [2, 0] }), undefined, 'the way is over')
  t.match(look(9000, { other: [4, 0.5] }), /^visitor/, 'its end is not')
  const pushed = look(1000, { own: [2, 0.8], other: [2, 1.1] })
  t.match(pushed, 'visitor (dev_2) is 0.30 m from rover-1, and 0.40 m is required')
  t.equal(look(1000, { own: [2, 0.8], other: [2, 1.21] }), undefined)
  t.end()
})
