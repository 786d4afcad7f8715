import { json2satrec, type OMMJsonObject } from 'satellite.js'
import * as z from 'zod'
import { round } from '../../../fields/round.ts'
import { readUtcTime } from '../../../fields/utc-time.ts'
import type { LookupContext } from '../../../lookup-run.ts'
import { ISS_NUMBER, type IssPosition } from '../../../modules/satellite/iss-position.ts'
import { UpstreamError } from '../../../upstreams/client.ts'
import celestrak from '../../../upstreams/sources/celestrak.ts'
import { locate } from './orbit.ts'

const Numeric = z.coerce.number()

/** Orbit mean-elements message (CCSDS 502.0-B) as CelesTrak writes it in JSON. */
const Elements = z.looseObject({
  OBJECT_NAME: z.string().max(64),
  EPOCH: z.string().max(40),
  MEAN_MOTION: Numeric,
  ECCENTRICITY: Numeric,
  INCLINATION: Numeric,
  RA_OF_ASC_NODE: Numeric,
  ARG_OF_PERICENTER: Numeric,
  MEAN_ANOMALY: Numeric,
  NORAD_CAT_ID: z.literal(ISS_NUMBER),
  BSTAR: Numeric,
})

const HOUR_MS = 3_600_000
/** Errors grow by one to three kilometres a day. */
const WARN_HOURS = 3 * 24
const REFUSE_HOURS = 14 * 24

/** Position from orbital elements, which are asked for a few times a day. */
export const askCelestrak = async ({ ask, warn, now }: LookupContext): Promise<IssPosition> => {
  const { body } = await ask({
    source: celestrak,
    path: '/NORAD/elements/gp.php',
    query: { CATNR: ISS_NUMBER, FORMAT: 'json' },
    form: 'json',
  })
  const [elements] = z.tuple([Elements]).rest(z.unknown()).parse(body)
  const epoch = readUtcTime(elements.EPOCH)
  const ageHours = epoch === null ? Number.NaN : (now() - Date.parse(epoch)) / HOUR_MS
  const at = new Date(now())
  const point =
    ageHours <= REFUSE_HOURS
      ? locate(json2satrec(elements as unknown as OMMJsonObject), at)
      : undefined
  if (point === undefined)
    throw new UpstreamError(celestrak.id, 'not_found', 'its orbital elements are too old')
  if (ageHours > WARN_HOURS)
    warn('stale_data', 'the orbital elements are older than 3 days', celestrak.name)
  return {
    norad_id: ISS_NUMBER,
    name: elements.OBJECT_NAME,
    at: at.toISOString(),
    lat: round(point.lat, 4),
    lon: round(point.lon, 4),
    altitude_km: round(point.altitudeKm, 2),
    velocity_kmh: round(point.velocityKmh, 1),
    footprint_km: round(point.footprintKm, 1),
    sunlit: point.isSunlit,
    method: 'sgp4',
    elements_epoch: epoch,
    elements_age_h: round(ageHours, 1),
  }
}
