import * as z from 'zod'
import { SiteOrigin } from '../../../shared/wire/formation.ts'

const Metres = z.number().min(-10_000).max(10_000)

/** Place of a formation in the local frame of its site. */
export const AnchorInput = z.strictObject({
  x_m: Metres,
  y_m: Metres,
  heading_degrees: z.number().min(-360).max(360).default(0),
})
export type AnchorInput = z.output<typeof AnchorInput>

const UnitBody = z.strictObject({
  radius_m: z
    .number()
    .positive()
    .max(50)
    .default(0.15)
    .describe('Radius of the circle that holds the unit.'),
  min_speed_m_s: z
    .number()
    .positive()
    .max(10)
    .default(0.1)
    .describe('Speed below which the unit cannot move evenly.'),
  max_speed_m_s: z
    .number()
    .positive()
    .max(50)
    .default(0.5)
    .describe('Highest speed in a formation; the safety envelope may lower it.'),
  acceleration_m_s2: z
    .number()
    .positive()
    .max(50)
    .exactOptional()
    .describe('Acceleration of the unit; that of its safety envelope by default.'),
})
export type UnitBody = z.output<typeof UnitBody>
export const DEFAULT_BODY: UnitBody = UnitBody.parse({})
/** Body of a unit that knows its position on the globe: outdoor vehicles are larger and faster. */
export const DEFAULT_GLOBE_BODY: UnitBody = UnitBody.parse({
  radius_m: 0.5,
  max_speed_m_s: 2,
  acceleration_m_s2: 1,
})

/** Tolerances of a formation with a unit that knows its position by satellite. */
const GlobeTolerances = z.strictObject({
  position_m: z
    .number()
    .positive()
    .max(50)
    .default(2)
    .describe('Largest error of a position by satellite, and of the straight way.'),
  skew_ms: z
    .int()
    .min(10)
    .max(5000)
    .default(2000)
    .describe('Largest difference between the starts, with the time of the radio link.'),
  settle_seconds: z
    .number()
    .min(0)
    .max(60)
    .default(8)
    .describe('Time in which a unit comes to rest at the end of a stage.'),
})

/** Formations of devices. */
export const SwarmConfig = z.strictObject({
  members: z
    .array(z.string().min(1).max(128))
    .max(200)
    .optional()
    .describe('Ids or names of the units; all idle movable devices of the site by default.'),
  site: z.string().min(1).max(64).optional().describe('Site of the units.'),
  anchor: AnchorInput.optional().describe(
    'Centre and heading of formations; the centre of the units by default.',
  ),
  units: z
    .record(z.string().max(128), UnitBody)
    .default({})
    .describe('Body of units, by device id, name or profile.'),
  origins: z
    .record(z.string().min(1).max(64), SiteOrigin)
    .default({})
    .describe(
      'Origin of the local frame by name of the site; units that know their position on the globe, ' +
        'such as vehicles with MAVLink, need it.',
    ),
  globe: GlobeTolerances.prefault({}).describe(
    'Tolerances that take the place of smaller ones when such a unit takes part.',
  ),
  margin_m: z.number().min(0).max(50).default(0.05).describe('Distance between two bodies.'),
  position_m: z
    .number()
    .positive()
    .max(10)
    .default(0.1)
    .describe(
      'Largest error of a position. A unit that has drifted further must be planned again.',
    ),
  skew_ms: z
    .int()
    .min(10)
    .max(5000)
    .default(200)
    .describe('Largest difference between the starts of two units.'),
  start_delay_seconds: z
    .number()
    .min(2)
    .max(300)
    .default(5)
    .describe('Time between the approval in use and the start, in which every cell must accept.'),
})
export type SwarmConfig = z.output<typeof SwarmConfig>
