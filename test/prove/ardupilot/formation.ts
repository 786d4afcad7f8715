import { newId } from '../../../shared/ids.ts'
import type { FlightRow } from '../../support/vehicles/flight.ts'
import { measureAcross, type Truth } from '../../support/vehicles/truth.ts'
import { pause } from '../../support/wait-until.ts'
import { openRig, type Programs, type RigUnit } from './rig.ts'

type Json = Record<string, unknown>

const HOME = { lat: 48.1, lon: 11.5, altitude_m: 500 }
const METRES_PER_DEGREE = 111_195
const SPACING_M = 15
const PATH = '/v1/swarm/formations'
/** Tolerance of positions by satellite, for the formation and the judge. */
const SLOT_M = 2.5

const placeAt = (north_m: number, east_m: number) => ({
  lat: HOME.lat + north_m / METRES_PER_DEGREE,
  lon: HOME.lon + east_m / (METRES_PER_DEGREE * Math.cos((HOME.lat * Math.PI) / 180)),
  altitude_m: HOME.altitude_m,
})

/** Two copters and a rover on one line, by the origin of their site. */
export const proveFormation = async (programs: Programs): Promise<FlightRow[]> => {
  const rig = await openRig(
    programs,
    [
      { name: 'kestrel', kind: 'copter', home: placeAt(0, 0) },
      { name: 'merlin', kind: 'copter', home: placeAt(0, 20) },
      { name: 'badger', kind: 'rover', home: placeAt(0, 40) },
    ],
    {
      swarm: {
        origins: { yard: { lat: HOME.lat, lon: HOME.lon } },
        site: 'yard',
        units: { rover: { radius_m: 1.5, max_speed_m_s: 2, acceleration_m_s2: 1 } },
      },
    },
  )
  try {
    const [kestrel, merlin, badger] = rig.units as [RigUnit, RigUnit, RigUnit]
    await Promise.all([
      kestrel.flight.climb(10),
      merlin.flight.climb(10),
      badger.flight.run('arm', 'arm'),
    ])
    await pause(4000)
    const members = await rig.call('operator', 'GET', '/v1/swarm/members')
    console.log(JSON.stringify(members.body))
    const input = {
      formation: 'line',
      spacing_m: SPACING_M,
      anchor: { x_m: 20, y_m: 25, heading_degrees: 0 },
    }
    const startedAt = Date.now()
    const pending = await rig.call('operator', 'POST', PATH, input, newId('key'))
    const request = String(pending.body.request_id)
    for (const who of ['approver_a', 'approver_b'] as const)
      await rig.call(who, 'POST', `/v1/gates/requests/${request}/approve`, {})
    const started = await rig.call('operator', 'POST', PATH, input, newId('key'))
    const id = started.body.formation_id
    let shown: Json = started.body
    const deadline = Date.now() + 240_000
    while (id !== undefined && Date.now() < deadline) {
      shown = (await rig.call('operator', 'GET', `${PATH}/${id}`)).body
      if (shown.ended_at !== null) break
      await pause(1000)
    }
    const plan = (pending.body.plan ?? {}) as Json
    const error = (pending.body.error ?? started.body.error) as Json | undefined
    const row = kestrel.flight.note(
      'line of two copters and a rover',
      {
        state: String(shown.state ?? 'refused'),
        reason: (shown.reason ?? error?.code ?? null) as string | null,
        message: (error?.message ?? null) as string | null,
        seen: null,
        ...{ startedAt, endedAt: Date.now() },
      },
      {},
    )
    row.untrue.push(...listWrongSlots(plan, shown, rig.units))
    row.untrue.push(...listTooClose(rig.units, startedAt))
    return rig.units.flatMap(({ flight }) => flight.rows)
  } finally {
    await rig.close()
  }
}

/** Slots that were said to be reached, and were not. */
const listWrongSlots = (plan: Json, shown: Json, units: readonly RigUnit[]): string[] => {
  if (shown.state !== 'reached') return [`the formation has ${shown.state}: ${shown.reason}`]
  const slots = (plan.units ?? []) as { name: string; slot: [number, number] }[]
  return slots.flatMap(({ name, slot: [x, y] }) => {
    const unit = units.find(({ flight }) => flight.device === name)
    const truth = unit?.autopilot.second.truth
    if (truth === undefined) return [`no truth about ${name}`]
    const off_m = measureAcross(truth, placeAt(y, x))
    return off_m > SLOT_M ? [`${name} is ${off_m.toFixed(1)} m from its slot`] : []
  })
}

/** Units that have come closer than half the spacing, by the truth. */
const listTooClose = (units: readonly RigUnit[], since: number): string[] => {
  const tracks = units.map(({ autopilot }) => autopilot.second.track.filter(({ at }) => at > since))
  return tracks.flatMap((track, index) =>
    tracks.slice(0, index).flatMap((other, earlier) => {
      const least_m = Math.min(...track.map(one => nearestTo(one, other)))
      const [a, b] = [units[index], units[earlier]].map(unit => unit?.flight.device)
      return least_m < SPACING_M / 2 ? [`${a} and ${b} were ${least_m.toFixed(1)} m apart`] : []
    }),
  )
}

/** Distance of a sample to the other track at the same time. */
const nearestTo = (one: Truth, other: readonly Truth[]): number => {
  const same = other.find(({ at }) => Math.abs(at - one.at) < 150)
  return same === undefined ? Number.POSITIVE_INFINITY : measureAcross(one, same)
}
