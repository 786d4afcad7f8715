import { type DeviceSnapshot, hasFrame, readPosition } from '../../../devices/envelope/snapshot.ts'
import { createSiteFrame } from '../../../devices/swarm/site-frame.ts'
import type { FormationParams, SiteOrigin } from '../../../shared/wire/formation.ts'
import type { Precondition } from '../../../shared/wire/plan-part.ts'
import { takeSnapshot } from '../device-checks.ts'
import type { DeviceHost } from '../device-host.ts'
import type { UnitPlan } from './unit-plans.ts'

export interface FormationCheckContext {
  host: Pick<DeviceHost, 'find' | 'runs'>
  /** Reason of the e-stop that holds a device; undefined while none does. */
  findStop: (deviceId: string) => string | undefined
  /** Unix milliseconds, by the clock of the readings. */
  now: () => number
}

/** Bounds of a formation that its checks look at. */
type CheckedBounds = Pick<FormationParams, 'position_m' | 'origin'>
type Place = FormationParams['stages'][number]['moves'][number]['from']

/** Most preconditions of a formation; those that fail come first. */
const MAX_CHECKS = 60

/** Distance of a device from a place; null without a fresh position in the frame of the site. */
export const measureDistance = (
  deviceId: string,
  [x, y, altitude]: Place,
  origin: SiteOrigin | undefined,
  { host, now }: Pick<FormationCheckContext, 'host' | 'now'>,
): number | null => {
  const hosted = host.find(deviceId)
  const position = hosted && locate(takeSnapshot(hosted), origin, now())
  if (position === undefined) return null
  // a vehicle on the ground may report an altitude above the sea
  const up_m = hosted?.device.profile.kind === 'drone' ? position.altitude_m - altitude : 0
  const distance_m = Math.hypot(position.x - x, position.y - y, up_m)
  return Math.round(distance_m * 1000) / 1000
}

/** Fresh position in the frame of the site, that of the globe converted; undefined without one. */
const locate = (snapshot: DeviceSnapshot, origin: SiteOrigin | undefined, now: number) => {
  if (hasFrame(snapshot, 'local')) return readPosition(snapshot, 'local', now)
  const position = readPosition(snapshot, 'wgs84', now)
  if (position === undefined || origin === undefined) return undefined
  const place = createSiteFrame(origin).toLocal({ lat: position.x, lon: position.y })
  return place && { ...place, altitude_m: position.altitude_m }
}

/** Checks one unit just before a move: e-stop, idleness, its place, and the limits of its device. */
const checkUnit = async (
  unit: UnitPlan,
  { position_m, origin, isFirst }: CheckedBounds & { isFirst: boolean },
  context: FormationCheckContext,
  signal: AbortSignal,
): Promise<Precondition[]> => {
  const { device_id, from } = unit.move
  const stop = context.findStop(device_id)
  const running = context.host.runs.listRunning(device_id)
  const refusal = unit.verb.findRefusal?.()
  const distance_m = isFirst ? measureDistance(device_id, from, origin, context) : undefined
  return [
    { name: 'available', observed: refusal?.message ?? null, limit: null, holds: !refusal },
    { name: 'estop', observed: stop ?? null, limit: null, holds: stop === undefined },
    { name: 'idle', observed: running, limit: [], holds: running.length === 0 },
    ...(distance_m === undefined
      ? []
      : [
          {
            name: 'start_position',
            observed: distance_m,
            limit: position_m,
            holds: distance_m !== null && distance_m <= position_m,
          },
        ]),
    ...((await unit.verb.check?.(unit.part, signal)) ?? []),
  ]
}

/** Checks of all units in a few lines: each that fails, and for the others how many hold. */
export const checkUnits = async (
  units: readonly UnitPlan[],
  params: CheckedBounds,
  context: FormationCheckContext,
  signal: AbortSignal,
): Promise<Precondition[]> => {
  const seen = new Set<string>()
  const failing: Precondition[] = []
  const holding = new Map<string, Precondition & { count: number }>()
  for (const unit of units) {
    const { device_id } = unit.move
    const isFirst = !seen.has(device_id)
    seen.add(device_id)
    for (const check of await checkUnit(unit, { ...params, isFirst }, context, signal)) {
      const named = { ...check, name: `${check.name} ${device_id}`.slice(0, 64) }
      if (!check.holds) failing.push(named)
      else holding.set(check.name, { ...check, count: (holding.get(check.name)?.count ?? 0) + 1 })
    }
  }
  const summaries = [...holding].map(([name, { count, limit }]) => ({
    name,
    observed: { holds: count },
    limit,
    holds: true,
  }))
  return [...failing, ...summaries].slice(0, MAX_CHECKS)
}
