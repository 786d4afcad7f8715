import type { Hazard } from '../../shared/wire/command.ts'
import type { Precondition } from '../../shared/wire/plan-part.ts'
import type { Interlock, PlannedMotion } from '../profile.ts'
import { checkGeofences } from './check-geofences.ts'
import { checkBattery, checkInterlock, checkLeast, checkStateAge } from './check-readings.ts'
import { checkSeparation } from './check-separation.ts'
import { type Finding, judge, toPrecondition } from './finding.ts'
import type { Bound, MergedEnvelope } from './merge-envelopes.ts'
import { type DeviceSnapshot, hasPosition, readFreshNumber } from './snapshot.ts'
import { isWindowOpen } from './time-windows.ts'

/** Everything that the checks of one device look at. */
export interface EnvelopeCheck {
  hazard: Hazard
  envelope: MergedEnvelope
  /** Motion of the plan; absent for a verb that moves nothing. */
  motion?: PlannedMotion | undefined
  interlocks?: readonly Interlock[] | undefined
  self: DeviceSnapshot
  /** Other devices of the same site. */
  peers: readonly DeviceSnapshot[]
  /** Unix milliseconds, by the clock of the readings. */
  now: number
  /** Caution and unsafe verbs of the device within the last minute. */
  recentCommands: number
  /** True when two persons have approved to leave the geofence. */
  isGeofenceOverridden?: boolean
}

const WAIVED = 'staying would be less safe than this motion'
const OVERRIDDEN = 'two persons have approved to override the geofence'

/**
 * Checks a verb against the limits of its device just before it begins. Verbs that only read or
 * reduce risk are never held up.
 */
export const checkEnvelope = (check: EnvelopeCheck): Precondition[] => {
  if (check.hazard === 'read' || check.hazard === 'safe') return []
  const { envelope, interlocks = [], self, now } = check
  return waiveChecks(check, [
    ...checkPlace(check, check.motion),
    ...toPreconditions(check, [
      ...checkBattery(envelope, self, now, true),
      ...checkLinkQuality(check),
      ...checkMotion(check),
      ...checkLaunch(check),
      ...checkWindows(check),
      ...checkRate(check),
      ...interlocks.map(interlock => checkInterlock(interlock, self, now)),
    ]),
  ])
}

/** Checks what must hold while a verb runs, from the newest readings alone. */
export const checkRunning = (check: EnvelopeCheck): Precondition[] => {
  const { envelope, interlocks = [], self, now } = check
  const watched = interlocks.filter(({ isWatched }) => isWatched)
  return waiveChecks(check, [
    ...checkPlace(check, undefined),
    ...toPreconditions(check, [
      ...checkBattery(envelope, self, now, false),
      ...watched.map(interlock => checkInterlock(interlock, self, now)),
    ]),
  ])
}

/** Lets the checks that the motion waives warn where they fail. */
const waiveChecks = (
  { motion }: EnvelopeCheck,
  checks: readonly Precondition[],
): Precondition[] => {
  const waived: readonly string[] = motion?.waives ?? []
  return checks.map(one =>
    one.holds || !waived.includes(one.name) ? one : { ...one, holds: true, warning: WAIVED },
  )
}

/**
 * Checks that depend on where the device is, or will be by a motion, and how old that knowledge is.
 */
const checkPlace = (check: EnvelopeCheck, motion: PlannedMotion | undefined): Precondition[] => {
  const { envelope, self, peers, now, isGeofenceOverridden = false } = check
  const { max_state_age_ms: age, min_separation_m: separation, geofences } = envelope
  const isPlaced = motion !== undefined || hasPosition(self)
  const fenced = isPlaced
    ? checkGeofences(geofences, self, { motion, launch: check.motion?.launch }, now)
    : []
  return [
    ...toPreconditions(check, age ? [checkStateAge(age, self, now)] : []),
    ...toPreconditions(check, fenced).map(one =>
      one.holds || !isGeofenceOverridden ? one : { ...one, holds: true, warning: OVERRIDDEN },
    ),
    ...toPreconditions(
      check,
      separation && isPlaced ? checkSeparation(separation, self, peers, motion, now) : [],
    ),
  ]
}

const toPreconditions = ({ hazard }: EnvelopeCheck, findings: readonly Finding[]): Precondition[] =>
  findings.map(finding => toPrecondition(finding, hazard))

const checkLinkQuality = ({ envelope, self, now }: EnvelopeCheck): Finding[] => {
  const quality = envelope.min_link_quality_percent
  return quality ? checkLeast('link_quality_percent', quality, self, now) : []
}

const checkMotion = ({ motion, envelope }: EnvelopeCheck): Finding[] => {
  if (motion === undefined) return []
  const { max_speed_m_s: speed, max_acceleration_m_s2: acceleration } = envelope
  return [
    ...checkMost('speed_m_s', motion.max_speed_m_s, speed),
    ...checkMost('acceleration_m_s2', motion.max_acceleration_m_s2, acceleration),
  ]
}

/** A way to a place that nobody knows is refused whatever the hazard. */
const checkLaunch = ({ motion, self, now }: EnvelopeCheck): Finding[] => {
  if (motion?.launch === undefined) return []
  const { x, y } = motion.launch
  const place = [x, y].map(name => readFreshNumber(self, name, now))
  const isKnown = !place.includes(undefined)
  const observed = isKnown ? place.join(', ') : `${x} or ${y} is unknown or stale`
  const verdict = isKnown ? 'holds' : 'fails'
  return [{ name: 'launch_position', observed, limit: null, source: 'verb', verdict }]
}

const checkMost = (
  name: string,
  value: number | undefined,
  bound: Bound<number> | undefined,
): Finding[] => {
  if (bound === undefined) return []
  const { value: limit, source } = bound
  const verdict = judge(value, one => one <= limit)
  return [{ name, observed: value ?? null, limit, source, verdict, doubt: 'no plan names it' }]
}

/** Checks the lists of each source: one window of each must be open. */
const checkWindows = ({ envelope, now }: EnvelopeCheck): Finding[] =>
  [...Map.groupBy(envelope.time_windows, ({ source }) => source)].map(([source, lists]) => {
    const closed = lists.find(({ value }) => !value.some(window => isWindowOpen(window, now)))
    return {
      name: 'time_window',
      observed: new Date(now).toISOString(),
      limit: (closed ?? lists[0])?.value.map(window => ({ ...window })) ?? [],
      source,
      verdict: closed === undefined ? 'holds' : 'fails',
    }
  })

const checkRate = ({ envelope, recentCommands }: EnvelopeCheck): Finding[] => {
  const rate = envelope.max_commands_per_minute
  if (rate === undefined) return []
  const { value: limit, source } = rate
  const verdict = recentCommands < limit ? 'holds' : 'fails'
  return [{ name: 'commands_per_minute', observed: recentCommands, limit, source, verdict }]
}
