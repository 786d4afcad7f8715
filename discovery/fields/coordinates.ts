import * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'
import type { SiteSettings } from '../lookup-run.ts'

export const Latitude = z.number().min(-90).max(90).describe('Latitude, WGS 84, degrees.')
export const Longitude = z.number().min(-180).max(180).describe('Longitude, WGS 84, degrees.')

/** Input of lookups for a place; the site of the operator when it is left out. */
export const placeInput = {
  lat: Latitude.exactOptional().describe('Latitude, degrees; that of the site by default.'),
  lon: Longitude.exactOptional().describe('Longitude, degrees; that of the site by default.'),
}

export interface Place {
  lat: number
  lon: number
}

/** @throws ShoalError invalid_request when neither the caller nor the configuration names a place */
export const findPlace = (
  { lat, lon }: { lat?: number | undefined; lon?: number | undefined },
  site: Pick<SiteSettings, 'lat' | 'lon'>,
): Place => {
  if (lat !== undefined && lon !== undefined) return { lat, lon }
  if (lat === undefined && lon === undefined && site.lat !== undefined && site.lon !== undefined)
    return { lat: site.lat, lon: site.lon }
  const param = lat === undefined ? 'lat' : 'lon'
  throw new ShoalError(
    'invalid_request',
    `${param} is missing: name lat and lon, or set site.lat and site.lon on the coordinator`,
    { param },
  )
}

/** Cuts off decimals; 4 are about 11 m. */
export const cutDecimals = (degrees: number, decimals: number): number =>
  Math.trunc(degrees * 10 ** decimals) / 10 ** decimals

const EARTH_RADIUS_KM = 6371

/** Distance on a sphere (haversine formula), kilometres. */
export const distanceKm = (a: Place, b: Place): number => {
  const radians = (degrees: number): number => (degrees * Math.PI) / 180
  const half = (from: number, to: number): number => Math.sin(radians(to - from) / 2) ** 2
  const h =
    half(a.lat, b.lat) + Math.cos(radians(a.lat)) * Math.cos(radians(b.lat)) * half(a.lon, b.lon)
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.min(1, Math.sqrt(h)))
}
