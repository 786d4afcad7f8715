import type { Point } from '../../../devices/swarm/formation.ts'
import { createSiteFrame } from '../../../devices/swarm/site-frame.ts'
import type { SiteOrigin } from '../../../shared/wire/formation.ts'
import type { Frame } from '../../../shared/wire/safety-envelope.ts'
import type { DeviceReadings } from '../inventory/device-states.ts'

type Readings = DeviceReadings | undefined

/** Names of the coordinates in each frame; the frame of the site counts for a device that has both. */
const COORDINATES = { local: ['x_m', 'y_m'], wgs84: ['lat', 'lon'] } as const

/** Frame in which a device reports its position; undefined while it reports none. */
export const frameOf = (readings: Readings): Frame | undefined =>
  (['local', 'wgs84'] as const).find(frame => readings?.readings.has(COORDINATES[frame][0]))

/** Place in the frame of the site; undefined while it is not known there. */
export const placeOf = (readings: Readings, origin: SiteOrigin | undefined): Point | undefined => {
  const frame = frameOf(readings)
  if (frame === undefined) return undefined
  const [x, y] = COORDINATES[frame].map(name => numberOf(readings, name))
  if (x === undefined || y === undefined) return undefined
  const place = frame === 'local' ? { x, y } : origin && toLocal(origin, x, y)
  return place && { x: round(place.x), y: round(place.y) }
}

const toLocal = (origin: SiteOrigin, lat: number, lon: number): Point | undefined =>
  createSiteFrame(origin).toLocal({ lat, lon })

/** True when a coordinate is older than its profile allows. */
export const isPlaceStale = (readings: Readings): boolean => {
  const frame = frameOf(readings)
  return (
    frame !== undefined &&
    COORDINATES[frame].some(name => readings?.readings.get(name)?.isStale === true)
  )
}

export const numberOf = (readings: Readings, name: string): number | undefined => {
  const value = readings?.readings.get(name)?.value
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** Whole millimetres. */
export const round = (metres: number): number => Math.round(metres * 1000) / 1000
