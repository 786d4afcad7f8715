import * as z from 'zod'
import { DEVICE_ID } from '../ids.ts'
import { Asked, Seen } from './device-outcome.ts'

/** Verb of a cell that moves its units of a formation. */
export const FORMATION_VERB = 'swarm-move'

/** Most units of a formation: people read the plan, and it fits into one command. */
export const MAX_FORMATION_UNITS = 200

/** Longest formation, in seconds; the verb of a cell ends in any case a little later. */
export const MAX_FORMATION_SECONDS = 1500

const Metres = z.number().min(-1e5).max(1e5)

/** Place of a site on the globe, WGS 84: where its local frame has x and y of 0. */
export const SiteOrigin = z.strictObject({
  lat: z.number().min(-90).max(90).describe('Latitude of the origin, degrees.'),
  lon: z.number().min(-180).max(180).describe('Longitude of the origin, degrees.'),
  x_bearing_degrees: z
    .number()
    .min(-360)
    .max(360)
    .default(90)
    .describe('Compass bearing of the x axis; east by default, so that y points north.'),
})
export type SiteOrigin = z.output<typeof SiteOrigin>

/** Position in the local frame of the site: x, y and altitude, in metres. */
const FormationPlace = z.tuple([Metres, Metres, Metres])

/** Move of a unit within a stage. */
export const FormationMove = z.strictObject({
  device_id: z.string().regex(DEVICE_ID),
  from: FormationPlace,
  to: FormationPlace,
  speed_m_s: z.number().positive().max(1000),
  /** Time after the begin of the stage. */
  delay_s: z.number().min(0).max(MAX_FORMATION_SECONDS),
})
export type FormationMove = z.infer<typeof FormationMove>

/** Moves of one cell that begin together with those of the other cells. */
export const FormationStage = z.strictObject({
  /** Time after the start of the formation. */
  begins_s: z.number().min(0).max(MAX_FORMATION_SECONDS),
  duration_s: z.number().min(0).max(MAX_FORMATION_SECONDS),
  moves: z.array(FormationMove).min(1).max(MAX_FORMATION_UNITS),
})
export type FormationStage = z.infer<typeof FormationStage>

/** Parameters of the verb: the units of one cell. */
export const FormationParams = z.strictObject({
  /** Largest distance of a unit from the place where its move begins, in metres. */
  position_m: z.number().positive().max(100),
  /** Largest difference between the starts of two units, in milliseconds. */
  skew_ms: z.int().positive().max(5000),
  stages: z.array(FormationStage).min(1).max(MAX_FORMATION_UNITS),
  /** Origin of the local frame, for units that know their position on the globe. */
  origin: SiteOrigin.exactOptional(),
  /**
   * Start in unix milliseconds by the coordinator's clock. It is no part of the plan: people approve
   * the moves, and the start is chosen when they are carried out.
   */
  start_at: z.int().positive().exactOptional(),
})
export type FormationParams = z.infer<typeof FormationParams>

/** End of a unit, as its cell reports it. */
export const FormationUnitResult = z.object({
  device_id: z.string().regex(DEVICE_ID),
  /** Distance from its slot; null without a fresh position. */
  distance_m: z.number().nullable(),
  /** Operations of its newest move, and the state observed after it; absent before the first. */
  asked: Asked.exactOptional(),
  seen: Seen.exactOptional(),
})
export type FormationUnitResult = z.infer<typeof FormationUnitResult>

/** Result of the verb. */
export const FormationResult = z.object({
  units: z.array(FormationUnitResult).max(MAX_FORMATION_UNITS),
})
