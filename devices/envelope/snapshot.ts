import type { DeviceState, PropertyFacts, PropertyValue } from '../../shared/wire/device.ts'
import type { Frame } from '../../shared/wire/safety-envelope.ts'
import type { Position } from '../profile.ts'

/** Readings of a device at one moment. */
export interface DeviceSnapshot {
  deviceId: string
  /** Properties that its profile declares. */
  properties: Readonly<Record<string, PropertyFacts>>
  /** Undefined before the first reading. */
  state: DeviceState | undefined
}

/** Most time by which a reading may be ahead of the clock that judges its age, in milliseconds. */
const MAX_AHEAD_MS = 2000

/** Age of a moment; undefined when it is unknown, or so far ahead that a clock must be wrong. */
export const ageOf = (at: number | null | undefined, now: number): number | undefined => {
  if (at === null || at === undefined || at > now + MAX_AHEAD_MS) return undefined
  return Math.max(0, now - at)
}

/** Names of the coordinates in each frame. */
const COORDINATES = { local: ['x_m', 'y_m'], wgs84: ['lat', 'lon'] } as const

export const hasProperty = ({ properties }: DeviceSnapshot, name: string): boolean =>
  Object.hasOwn(properties, name)

/** Value of a declared property; undefined when it is unknown or older than its profile allows. */
export const readFresh = (
  { properties, state }: DeviceSnapshot,
  name: string,
  now: number,
): Exclude<PropertyValue, null> | undefined => {
  const facts = Object.hasOwn(properties, name) ? properties[name] : undefined
  const readings = state?.readings ?? {}
  const reading = Object.hasOwn(readings, name) ? readings[name] : undefined
  if (facts === undefined || reading === undefined) return undefined
  const age = ageOf(reading.at, now)
  const isFresh = age !== undefined && age < facts.stale_after_ms
  return isFresh ? (reading.value ?? undefined) : undefined
}

export const readFreshNumber = (
  snapshot: DeviceSnapshot,
  name: string,
  now: number,
): number | undefined => {
  const value = readFresh(snapshot, name, now)
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** True when the device reports where it is in this frame. */
export const hasFrame = (snapshot: DeviceSnapshot, frame: Frame): boolean =>
  hasProperty(snapshot, COORDINATES[frame][0])

/** True when the device reports where it is, in any frame. */
export const hasPosition = (snapshot: DeviceSnapshot): boolean =>
  hasFrame(snapshot, 'local') || hasFrame(snapshot, 'wgs84')

/**
 * Newest position in a frame; undefined when it is unknown or stale. A device that reports no
 * altitude stays on the floor.
 */
export const readPosition = (
  snapshot: DeviceSnapshot,
  frame: Frame,
  now: number,
): Position | undefined => {
  const [x, y] = COORDINATES[frame].map(name => readFreshNumber(snapshot, name, now))
  const altitude_m = hasProperty(snapshot, 'altitude_m')
    ? readFreshNumber(snapshot, 'altitude_m', now)
    : 0
  if (x === undefined || y === undefined || altitude_m === undefined) return undefined
  return { frame, x, y, altitude_m }
}
