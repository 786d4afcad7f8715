import type { FormationUnit } from '../../devices/swarm/planned-formation.ts'
import type { DeviceKind } from '../../shared/wire/device.ts'
import type { SafetyEnvelope } from '../../shared/wire/safety-envelope.ts'
import { type Device, reasonOf } from '../devices/device.ts'
import type { DeviceReadings } from '../devices/device-states.ts'
import { DEFAULT_BODY, type SwarmConfig, type UnitBody } from './config.ts'

/** Reason why a device takes no part in a formation. */
export type ExclusionReason =
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
  place?: { x: number; y: number }
  /** True for an available robot or drone that may be anywhere: its place now is not known here. */
  isUnseen: boolean
}

/** A device that can take part. */
export interface SwarmUnit extends FormationUnit {
  device: Device
}

/** Facts about a device that decide whether it can take part. */
export interface Candidate {
  device: Device
  readings: DeviceReadings | undefined
  /** Names of its verbs; undefined while its cell has not announced itself to this coordinator. */
  verbs: readonly string[] | undefined
  /** Reason of the e-stop that holds it. */
  estop: string | undefined
  /** True while it is part of a formation that runs. */
  isInFormation: boolean
}

/** Verbs that move a device to a position. */
const MOVE_VERBS = ['move-to', 'go-to']
const MOVING_KINDS: readonly DeviceKind[] = ['robot', 'drone']
/** Speed from which a device counts as moving. */
const MOVING_M_S = 0.05

export const isMovable = ({ verbs }: Pick<Candidate, 'verbs'>): boolean =>
  MOVE_VERBS.some(verb => verbs?.includes(verb))

/** Judges a device: a unit of the swarm, or the reason why it is not. */
export const judgeCandidate = (
  candidate: Candidate,
  site: string | null,
  config: SwarmConfig,
): SwarmUnit | Exclusion => {
  const { device, readings } = candidate
  const place = placeOf(readings)
  const refuse = (reason: ExclusionReason, message: string): Exclusion => ({
    device,
    reason,
    message,
    isUnseen: isUnseen(candidate),
    ...(place && { place }),
  })
  const found = findExclusion(candidate, site)
  if (found !== undefined) return refuse(...found)
  if (place === undefined) return refuse('no_position', 'its position is not known')
  const body = bodyOf(device, config)
  const { envelope } = device.facts
  const altitudes = candidate.verbs?.includes('go-to') ? altitudesOf(envelope) : undefined
  return {
    device,
    device_id: device.id,
    place: { ...place, altitude_m: round(numberOf(readings, 'altitude_m') ?? 0) },
    radius_m: body.radius_m,
    min_speed_m_s: body.min_speed_m_s,
    max_speed_m_s: Math.min(body.max_speed_m_s, envelope.max_speed_m_s ?? body.max_speed_m_s),
    max_acceleration_m_s2: body.acceleration_m_s2 ?? envelope.max_acceleration_m_s2 ?? 0.5,
    ...(altitudes && { altitudes }),
  }
}

/** A device that is switched off stays where it is; an available one may enter a planned path unseen. */
const isUnseen = ({ device: { isAvailable, kind }, readings }: Candidate): boolean =>
  isAvailable &&
  MOVING_KINDS.includes(kind) &&
  ['x_m', 'y_m'].some(
    name =>
      numberOf(readings, name) === undefined || readings?.readings.get(name)?.isStale === true,
  )

export const isExclusion = (judged: SwarmUnit | Exclusion): judged is Exclusion =>
  'reason' in judged

export const isUnit = (judged: SwarmUnit | Exclusion): judged is SwarmUnit => !isExclusion(judged)

const findExclusion = (
  candidate: Candidate,
  site: string | null,
): [ExclusionReason, string] | undefined => {
  const { device, readings, estop, isInFormation } = candidate
  const { facts } = device
  if (candidate.verbs === undefined)
    return ['unavailable', `${device.cellId} is not connected to this coordinator`]
  if (!isMovable(candidate)) return ['not_movable', 'it has no command that moves it to a position']
  if (facts.site !== site) return ['other_site', `it is at ${facts.site ?? 'no site'}`]
  if (!device.isAvailable || !facts.writable)
    return ['unavailable', reasonOf(device) ?? 'it accepts no commands']
  if (estop !== undefined) return ['estop', `an e-stop holds it: ${estop}`]
  if (isInFormation) return ['busy', 'it is part of a formation that runs']
  if (readings?.readings.has('x_m') !== true && readings?.readings.has('lat') === true)
    return ['other_frame', 'its position is on the globe, not in the frame of the site']
  return findUnfit(device, readings)
}

/** Reasons that lie in the readings. */
const findUnfit = (
  { facts: { envelope } }: Device,
  readings: DeviceReadings | undefined,
): [ExclusionReason, string] | undefined => {
  const pose = ['x_m', 'y_m'].map(name => readings?.readings.get(name))
  if (pose.some(reading => reading?.isStale))
    return ['stale_pose', 'its position is older than its profile allows']
  const floor = envelope.min_battery_to_start_percent
  const battery = numberOf(readings, 'battery_percent')
  if (floor !== undefined && (battery === undefined || battery < floor))
    return ['battery', `its battery is at ${battery ?? 'an unknown level'}, and ${floor} is needed`]
  if ((numberOf(readings, 'speed_m_s') ?? 0) > MOVING_M_S) return ['busy', 'it moves']
  if (readings?.readings.get('is_flying')?.value === false)
    return ['not_flying', 'it is on the ground']
  return undefined
}

/** Place in the frame of the site; undefined while it is not known. */
export const placeOf = (
  readings: DeviceReadings | undefined,
): { x: number; y: number } | undefined => {
  const [x, y] = [numberOf(readings, 'x_m'), numberOf(readings, 'y_m')]
  return x === undefined || y === undefined ? undefined : { x: round(x), y: round(y) }
}

const numberOf = (readings: DeviceReadings | undefined, name: string): number | undefined => {
  const value = readings?.readings.get(name)?.value
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** Whole millimetres. */
const round = (metres: number): number => Math.round(metres * 1000) / 1000

const bodyOf = ({ id, facts }: Device, { units }: SwarmConfig): UnitBody =>
  [id, facts.name, facts.profile].flatMap(key =>
    Object.hasOwn(units, key) ? [units[key] as UnitBody] : [],
  )[0] ?? DEFAULT_BODY

/** Altitudes that all local geofences allow; undefined without an upper limit. */
const altitudesOf = ({ geofences = [] }: SafetyEnvelope): FormationUnit['altitudes'] => {
  const local = geofences.filter(({ frame }) => frame === 'local')
  const most = local.flatMap(({ max_altitude_m }) => max_altitude_m ?? [])
  if (most.length === 0) return undefined
  const least = local.flatMap(({ min_altitude_m }) => min_altitude_m ?? [])
  return { min_m: Math.max(1, ...least), max_m: Math.min(...most) }
}
