import {
  type AutopilotState,
  listAround,
  measureAcross,
  type Truth,
  type TruthSource,
} from './truth.ts'

type Json = Record<string, unknown>

/** Largest difference between a word and the truth: half a metre or a tenth, within a second. */
const METRES = 0.5
const SHARE = 0.1
const SECOND_MS = 1000
/** Speed below which a vehicle rests; a hovering one sways. */
const REST_M_S = 0.5
/** A climb, a place or a landing that was reached is within this, beside the words about it. */
const GOAL_M = 2
/** Height of a vehicle that stands: barometers drift by some decimetres. */
const GROUND_M = 0.6
/** Speed above the approved one that a command may show for a second. */
const OVERSPEED = { share: 1.2, more_m_s: 0.5, for_ms: SECOND_MS }

/** Motion that was approved for a command. */
export interface Approved {
  speed_m_s?: number | undefined
  altitude_m?: number | undefined
  lat?: number | undefined
  lon?: number | undefined
  /** The vehicle must stand and be disarmed. */
  isLanded?: boolean | undefined
  /** The vehicle must rest. */
  isResting?: boolean | undefined
}

/** A command as the service reports it at its end. */
export interface Reported {
  state: string
  reason: string | null
  message: string | null
  seen: { state: string; at: number | null; values: Json } | null
  startedAt: number
  endedAt: number
}

/** Names of the modes of a vehicle by their number. */
export type NameMode = (mode: number) => string

/**
 * Compares what was said about a command with the truth, and lists each word that is not true. What
 * is null was not said.
 */
export const listUntrue = (
  reported: Reported,
  approved: Approved,
  truth: TruthSource,
  nameMode: NameMode,
): string[] => {
  const { seen } = reported
  const at = seen?.at ?? reported.endedAt
  const track = listAround(truth.track, at, SECOND_MS)
  const states = listAround(truth.states, at, SECOND_MS)
  if (track.length === 0)
    return seen === null ? [] : ['nothing is known of the truth at the time of its observation']
  return [
    ...(seen === null ? [] : listWrongValues(seen.values, track, states, nameMode)),
    ...(seen === null ? [] : listWrongState(seen.state, track)),
    ...(reported.state === 'succeeded' ? listMissed(approved, track, states) : []),
    ...listOverspeed(reported, approved, truth),
  ]
}

const listWrongState = (state: string, track: readonly Truth[]): string[] =>
  state === 'at_rest' && !track.some(isAtRest)
    ? [`at rest, and it moved at ${speedOf(track).toFixed(1)} m/s`]
    : []

const isAtRest = ({ speed_m_s, climb_m_s }: Truth): boolean =>
  speed_m_s < REST_M_S && Math.abs(climb_m_s) < REST_M_S

const speedOf = (track: readonly Truth[]): number =>
  Math.min(...track.map(({ speed_m_s, climb_m_s }) => Math.hypot(speed_m_s, climb_m_s)))

const isNear = (said: number, real: number): boolean =>
  Math.abs(said - real) <= Math.max(METRES, SHARE * Math.abs(real))

const listWrongValues = (
  values: Json,
  track: readonly Truth[],
  states: readonly AutopilotState[],
  nameMode: NameMode,
): string[] => {
  const { lat, lon, altitude_m, speed_m_s, is_armed, mode } = values
  const untrue: string[] = []
  if (typeof lat === 'number' && typeof lon === 'number') {
    const off_m = Math.min(...track.map(one => measureAcross({ lat, lon }, one)))
    if (off_m > METRES) untrue.push(`its place, ${off_m.toFixed(1)} m off`)
  }
  if (typeof altitude_m === 'number' && !track.some(one => isNear(altitude_m, one.altitude_m)))
    untrue.push(`altitude ${altitude_m.toFixed(1)} m, ${track.at(-1)?.altitude_m.toFixed(1)} m`)
  if (typeof speed_m_s === 'number' && !track.some(one => isNear(speed_m_s, one.speed_m_s)))
    untrue.push(`speed ${speed_m_s.toFixed(1)} m/s, ${track.at(-1)?.speed_m_s.toFixed(1)} m/s`)
  if (states.length === 0) return untrue
  if (typeof is_armed === 'boolean' && !states.some(({ isArmed }) => isArmed === is_armed))
    untrue.push(is_armed ? 'armed' : 'disarmed')
  if (typeof mode === 'string' && !states.some(one => nameMode(one.mode) === mode))
    untrue.push(`mode ${mode}, ${nameMode(states.at(-1)?.mode ?? -1)}`)
  return untrue
}

/** A command that has succeeded has reached what was approved. */
const listMissed = (
  { lat, lon, altitude_m, isLanded, isResting }: Approved,
  track: readonly Truth[],
  states: readonly AutopilotState[],
): string[] => {
  const untrue: string[] = []
  if (altitude_m !== undefined && !track.some(one => isCloseTo(altitude_m, one.altitude_m)))
    untrue.push(`succeeded, at ${track.at(-1)?.altitude_m.toFixed(1)} m instead of ${altitude_m} m`)
  if (lat !== undefined && lon !== undefined) {
    const off_m = Math.min(...track.map(one => measureAcross({ lat, lon }, one)))
    if (off_m > GOAL_M) untrue.push(`succeeded, ${off_m.toFixed(1)} m from its goal`)
  }
  if (isResting === true && !track.some(isAtRest))
    untrue.push(`succeeded, and it moved at ${speedOf(track).toFixed(1)} m/s`)
  if (isLanded === true) {
    if (!track.some(one => one.altitude_m < GROUND_M)) untrue.push('landed, in the air')
    if (!states.some(one => !one.isArmed)) untrue.push('landed, and armed')
  }
  return untrue
}

const isCloseTo = (goal: number, real: number): boolean =>
  Math.abs(goal - real) <= Math.max(METRES, SHARE * goal)

/** A flight faster than approved is untrue unless its command has failed for it. */
const listOverspeed = (
  { state, startedAt, endedAt }: Reported,
  { speed_m_s }: Approved,
  { track }: TruthSource,
): string[] => {
  if (speed_m_s === undefined || state !== 'succeeded') return []
  const bound_m_s = Math.max(speed_m_s * OVERSPEED.share, speed_m_s + OVERSPEED.more_m_s)
  let since: number | undefined
  for (const one of track.filter(({ at }) => at >= startedAt && at <= endedAt)) {
    if (one.speed_m_s <= bound_m_s) since = undefined
    else since ??= one.at
    if (since !== undefined && one.at - since > OVERSPEED.for_ms)
      return [`flown at ${one.speed_m_s.toFixed(1)} m/s, approved ${speed_m_s} m/s`]
  }
  return []
}
