import type { PropertyFacts } from '../shared/wire/device.ts'

const SECOND_MS = 1000

/** Creates the facts of a number. */
const createNumber = (
  title: string,
  unit: string,
  staleAfterSeconds: number,
  range: Pick<PropertyFacts, 'min' | 'max'> = {},
): PropertyFacts => ({
  title,
  type: 'number',
  unit,
  ...range,
  stale_after_ms: staleAfterSeconds * SECOND_MS,
})

/**
 * Properties that several profiles share. Checks, series and formations know them by these names; a
 * profile takes those that its device reports, and states its own age limits where they differ.
 */
export const SHARED_PROPERTIES = {
  battery_percent: createNumber('Battery', '%', 60, { min: 0, max: 100 }),
  /** Position in the local frame of the site. */
  x_m: createNumber('Position x', 'm', 5),
  y_m: createNumber('Position y', 'm', 5),
  /** Position on the globe, WGS 84. */
  lat: createNumber('Latitude', '°', 5, { min: -90, max: 90 }),
  lon: createNumber('Longitude', '°', 5, { min: -180, max: 180 }),
  /** Altitude above the floor, or above the place of take-off. */
  altitude_m: createNumber('Altitude', 'm', 5),
  speed_m_s: createNumber('Speed', 'm/s', 5, { min: 0 }),
  heading_degrees: createNumber('Heading', '°', 5, { min: 0, max: 360 }),
  link_quality_percent: createNumber('Link quality', '%', 30, { min: 0, max: 100 }),
  temperature_celsius: createNumber('Temperature', '°C', 300),
  power_watts: createNumber('Power', 'W', 300),
} as const satisfies Record<string, PropertyFacts>
