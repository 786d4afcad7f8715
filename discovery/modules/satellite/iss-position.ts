import * as z from 'zod'
import { Latitude, Longitude } from '../../fields/coordinates.ts'
import { defineLookup } from '../../module.ts'

/** Catalogue number of the space station (NORAD). */
export const ISS_NUMBER = 25_544

const IssPosition = z.strictObject({
  norad_id: z.literal(ISS_NUMBER),
  name: z.string().max(64),
  at: z.iso.datetime(),
  lat: Latitude,
  lon: Longitude,
  altitude_km: z.number().nullable(),
  velocity_kmh: z.number().nullable(),
  footprint_km: z.number().nullable().describe('Diameter of the area that can see it.'),
  sunlit: z.boolean().nullable(),
  method: z
    .enum(['sgp4', 'provider'])
    .describe('Calculated from orbital elements, or read from a service.'),
  elements_epoch: z.iso.datetime().nullable(),
  elements_age_h: z.number().nullable(),
})
export type IssPosition = z.output<typeof IssPosition>

export default defineLookup({
  id: 'iss-position',
  name: 'Space station',
  description: 'Calculate the ground point below the International Space Station.',
  tags: ['satellite', 'orbit'],
  access: 'key',
  reach: 'internet',
  input: z.strictObject({}),
  examples: [{}],
  deadlineSeconds: 30,
  data: IssPosition,
})
