import type { Point } from '../../../devices/swarm/formation.ts'
import type { FormationUnit } from '../../../devices/swarm/planned-formation.ts'
import { MAX_SITE_M } from '../../../devices/swarm/site-frame.ts'
import { NEEDS } from '../../../shared/wire/capability.ts'
import type { DeviceKind } from '../../../shared/wire/device.ts'
import type { Frame, SafetyEnvelope } from '../../../shared/wire/safety-envelope.ts'
import type { Device } from '../inventory/device.table.ts'
import { reasonOf } from '../inventory/device.ts'
import type { DeviceReadings } from '../inventory/device-states.ts'
import { DEFAULT_BODY, DEFAULT_GLOBE_BODY, type SwarmConfig, type UnitBody } from './config.ts'
import { frameOf, isPlaceStale, numberOf, placeOf, round } from './site-place.ts'

/** Reason why a device takes no part in a formation. */
type ExclusionReason =
  | 'not_movable'
  | 'unavailable'
  | 'estop'
  | 'other_site'
  | 'other_frame'
  | 'no_position'
  | 'stale_pose'
  | 'battery'
  | 'busy'
  | 'not_flying'
  | 'not_asked'

export interface Exclusion {
  device: Device
  reason: ExclusionReason
  /** The reason in plain words. */
  message: string
  /** Place where it stands, when that is known. */
  place?: Point
  /** Frame in which it reports its position. */
  frame: Frame | undefined
  /** True for an available robot or drone that may be anywhere: its place now is not known here. */
  isUnseen: boolean
}

/** A device that can take part. */
export interface SwarmUnit extends FormationUnit {
  device: Device
  /** Frame in which the device knows its position. */
  frame: Frame
}

/** Facts about a device that decide whether it can take part. */
export interface Candidate {
  device: Device
  readings: DeviceReadings | undefined
  /** Names of its verbs; undefined while its cell has not announced itself to this coordinator. */
  verbs: readonly string[] | undefined
  /** Capability level of its cell. */
  level: number
  /** Speeds that its verb for a position accepts. */
  speeds?: { min_m_s?: number | undefined; max_m_s?: number | undefined } | undefined
  /** Reason of the e-stop that holds it. */
  estop: string | undefined
  /** True while it is part of a formation that runs. */
  isInFormation: boolean
}

/** Verbs that move a device to a position. */
export const MOVE_VERBS = ['move-to', 'go-to']
/** Profiles whose `go-to` ends in circles around the place. */
const CIRCLING_PROFILES = ['plane']
const MOVING_KINDS: readonly DeviceKind[] = ['robot', 'drone']
/** Speed from which a device counts as moving; one by satellite is never quite zero. */
const MOVING_M_S = { local: 0.05, wgs84: 0.5 } as const satisfies Record<Frame, number>

export const isMovable = ({ verbs }: Pick<Candidate, 'verbs'>): boolean =>
  MOVE_VERBS.some(verb => verbs?.includes(verb))

/** Judges a device: a unit of the swarm, or the reason why it is not. */
export const judgeCandidate = (
  candidate: Candidate,
  site: string | null,
  config: SwarmConfig,
): SwarmUnit | Exclusion => {
  const { device, readings, speeds } = candidate
  const origin = originOf(site, config)
  const place = placeOf(readings, origin)
  const refuse = (reason: ExclusionReason, message: string): Exclusion => ({
    device,
    reason,
    message,
    frame: frameOf(readings),
    isUnseen: isUnseen(candidate, place),
    ...(place && { place }),
  })
  const found = findExclusion(candidate, site, { place, hasOrigin: origin !== undefined })
  if (found !== undefined) return refuse(...found)
  const frame = frameOf(readings)
  if (place === undefined || frame === undefined)
    return refuse('no_position', 'its position is not known')
  const body = bodyOf(device, frame, config)
  const { envelope } = device.facts
  const altitudes = device.kind === 'drone' ? altitudesOf(envelope, frame) : undefined
  const fastest = [body.max_speed_m_s, envelope.max_speed_m_s, speeds?.max_m_s]
  return {
    device,
    frame,
    device_id: device.id,
    place: { ...place, altitude_m: altitudeOf(device, readings) },
    radius_m: body.radius_m,
    min_speed_m_s: Math.max(body.min_speed_m_s, speeds?.min_m_s ?? 0),
    max_speed_m_s: Math.min(...fastest.flatMap(speed => speed ?? [])),
    max_acceleration_m_s2: body.acceleration_m_s2 ?? envelope.max_acceleration_m_s2 ?? 0.5,
    ...(altitudes && { altitudes }),
  }
}

/** Altitude of a device that flies; those on the ground have none that a formation needs. */
const altitudeOf = ({ kind }: Device, readings: DeviceReadings | undefined): number =>
  kind === 'drone' ? round(numberOf(readings, 'altitude_m') ?? 0) : 0

/** A device that is switched off stays where it is; an available one may enter a planned path unseen. */
const isUnseen = (
  { device: { isAvailable, kind }, readings }: Candidate,
  place: Point | undefined,
): boolean =>
  isAvailable && MOVING_KINDS.includes(kind) && (place === undefined || isPlaceStale(readings))

export const isExclusion = (judged: SwarmUnit | Exclusion): judged is Exclusion =>
  'reason' in judged

export const isUnit = (judged: SwarmUnit | Exclusion): judged is SwarmUnit => !isExclusion(judged)

const findExclusion = (
  candidate: Candidate,
  site: string | null,
  { place, hasOrigin }: { place: Point | undefined; hasOrigin: boolean },
): [ExclusionReason, string] | undefined => {
  const { device, readings, estop, isInFormation } = candidate
  const { facts } = device
  if (candidate.verbs === undefined)
    return ['unavailable', `${device.cellId} is not connected to this coordinator`]
  if (!isMovable(candidate)) return ['not_movable', 'it has no command that moves it to a position']
  if (CIRCLING_PROFILES.includes(facts.profile))
    return ['not_movable', 'it circles around a position, and cannot rest there']
  if (facts.site !== site) return ['other_site', `it is at ${facts.site ?? 'no site'}`]
  if (!device.isAvailable || !facts.writable)
    return ['unavailable', reasonOf(device) ?? 'it accepts no commands']
  if (estop !== undefined) return ['estop', `an e-stop holds it: ${estop}`]
  if (isInFormation) return ['busy', 'it is part of a formation that runs']
  if (frameOf(readings) === 'wgs84' && !hasOrigin)
    return ['other_frame', describeMissingOrigin(site)]
  if (frameOf(readings) === 'wgs84' && candidate.level < NEEDS.globe)
    return [
      'other_frame',
      `its position is on the globe, and its cell has capability level ${candidate.level}; formations there need level ${NEEDS.globe}, update its daemon`,
    ]
  return findUnfit(device, readings, place)
}

const describeMissingOrigin = (site: string | null): string =>
  site === null
    ? 'its position is on the globe; give it a site, and the site an origin in swarm.origins'
    : `its position is on the globe, and the site has no origin; set swarm.origins.${site}`

/** Reasons that lie in the readings. */
const findUnfit = (
  { kind, facts: { envelope } }: Device,
  readings: DeviceReadings | undefined,
  place: Point | undefined,
): [ExclusionReason, string] | undefined => {
  if (isPlaceStale(readings)) return ['stale_pose', 'its position is older than its profile allows']
  if (place === undefined && numberOf(readings, 'lat') !== undefined)
    return ['other_site', `it is more than ${MAX_SITE_M / 1000} km from the origin of the site`]
  const floor = envelope.min_battery_to_start_percent
  const battery = numberOf(readings, 'battery_percent')
  if (floor !== undefined && (battery === undefined || battery < floor))
    return ['battery', `its battery is at ${battery ?? 'an unknown level'}, and ${floor} is needed`]
  const moving_m_s = MOVING_M_S[frameOf(readings) ?? 'local']
  if ((numberOf(readings, 'speed_m_s') ?? 0) > moving_m_s) return ['busy', 'it moves']
  if (isOnGround(kind, readings)) return ['not_flying', 'it is on the ground']
  return undefined
}

const isOnGround = (kind: DeviceKind, readings: DeviceReadings | undefined): boolean => {
  const read = (name: string) => readings?.readings.get(name)?.value
  return read('is_flying') === false || (kind === 'drone' && read('is_armed') === false)
}

/** Origin of the frame of a site; undefined where the configuration names none. */
export const originOf = (
  site: string | null,
  { origins }: Pick<SwarmConfig, 'origins'>,
): SwarmConfig['origins'][string] | undefined =>
  site !== null && Object.hasOwn(origins, site) ? origins[site] : undefined

const bodyOf = ({ id, facts }: Device, frame: Frame, { units }: SwarmConfig): UnitBody =>
  [id, facts.name, facts.profile].flatMap(key =>
    Object.hasOwn(units, key) ? [units[key] as UnitBody] : [],
  )[0] ?? (frame === 'local' ? DEFAULT_BODY : DEFAULT_GLOBE_BODY)

/** Altitudes that all geofences of its frame allow; undefined without an upper limit. */
const altitudesOf = (
  { geofences = [] }: SafetyEnvelope,
  frame: Frame,
): FormationUnit['altitudes'] => {
  const own = geofences.filter(fence => fence.frame === frame)
  const most = own.flatMap(({ max_altitude_m }) => max_altitude_m ?? [])
  if (most.length === 0) return undefined
  const least = own.flatMap(({ min_altitude_m }) => min_altitude_m ?? [])
  return { min_m: Math.max(1, ...least), max_m: Math.min(...most) }
}
