import * as z from 'zod'
import { Latitude, Longitude } from '../../../fields/coordinates.ts'
import type { LookupContext } from '../../../lookup-run.ts'
import { ISS_NUMBER, type IssPosition } from '../../../modules/satellite/iss-position.ts'
import openNotify from '../../../upstreams/sources/open-notify.ts'
import wheretheiss from '../../../upstreams/sources/wheretheiss.ts'

const NAME = 'ISS (ZARYA)'
const FACTS = {
  norad_id: ISS_NUMBER,
  name: NAME,
  method: 'provider',
  elements_epoch: null,
  elements_age_h: null,
} as const

const toTime = (seconds: number): string => new Date(seconds * 1000).toISOString()

const WhereTheIss = z.object({
  latitude: Latitude,
  longitude: Longitude,
  altitude: z.number(),
  velocity: z.number().describe('km/h'),
  footprint: z.number().nullish(),
  visibility: z.string().max(40).nullish(),
  timestamp: z.number(),
  units: z.literal('kilometers').optional(),
})

/** https://wheretheiss.at/w/developer */
export const askWhereTheIss = async ({ ask }: LookupContext): Promise<IssPosition> => {
  const path = `/v1/satellites/${ISS_NUMBER}`
  const { body } = await ask({ source: wheretheiss, path, form: 'json' })
  const found = WhereTheIss.parse(body)
  return {
    ...FACTS,
    at: toTime(found.timestamp),
    lat: found.latitude,
    lon: found.longitude,
    altitude_km: found.altitude,
    velocity_kmh: found.velocity,
    footprint_km: found.footprint ?? null,
    sunlit: found.visibility == null ? null : found.visibility === 'daylight',
  }
}

/** Numbers are texts. */
const IssNow = z.object({
  message: z.literal('success'),
  timestamp: z.number(),
  iss_position: z.object({
    latitude: z.coerce.number().min(-90).max(90),
    longitude: z.coerce.number().min(-180).max(180),
  }),
})

/** http://open-notify.org/Open-Notify-API/ISS-Location-Now/ */
export const askOpenNotify = async ({ ask }: LookupContext): Promise<IssPosition> => {
  const { body } = await ask({ source: openNotify, path: '/iss-now.json', form: 'json' })
  const { timestamp, iss_position } = IssNow.parse(body)
  return {
    ...FACTS,
    at: toTime(timestamp),
    lat: iss_position.latitude,
    lon: iss_position.longitude,
    altitude_km: null,
    velocity_kmh: null,
    footprint_km: null,
    sunlit: null,
  }
}
