import * as z from 'zod'
import type { PropertyValue } from '../../../../shared/wire/device.ts'
import { Num, optional, Text } from './fields.ts'

/* `exposes` of Zigbee2MQTT: what a device can do, as a list of features (guide, Exposes). */

const Word = optional(z.union([z.string().max(64), z.boolean()]))

/** Bits of `access`. */
export const ACCESS = { published: 1, set: 2, get: 4 } as const

export const Feature = z.object({
  type: Text,
  name: Text,
  property: Text,
  access: Num,
  unit: Text,
  value_on: Word,
  value_off: Word,
  value_toggle: Word,
  value_max: Num,
  /** Values of an enumeration. */
  values: optional(z.array(z.union([z.string().max(64), z.number()])).max(64)),
})
export type Feature = z.infer<typeof Feature>

export const Expose = Feature.extend({ features: optional(z.array(Feature).max(64)) })
export type Expose = z.infer<typeof Expose>

type Convert = (value: unknown) => PropertyValue | undefined

const asIs: Convert = value => value as PropertyValue
const scaled =
  (factor: number): Convert =>
  value =>
    typeof value === 'number' ? value * factor : undefined

/** Properties by the name of a feature. */
const KNOWN: Readonly<Record<string, { property: string; convert: Convert; unit?: string }>> = {
  temperature: { property: 'temperature_celsius', convert: asIs, unit: '°C' },
  humidity: { property: 'humidity_percent', convert: asIs, unit: '%' },
  pressure: { property: 'pressure_hpa', convert: asIs, unit: 'hPa' },
  illuminance: { property: 'illuminance_lux', convert: asIs, unit: 'lx' },
  illuminance_lux: { property: 'illuminance_lux', convert: asIs, unit: 'lx' },
  co2: { property: 'co2_ppm', convert: asIs, unit: 'ppm' },
  power: { property: 'power_watts', convert: asIs, unit: 'W' },
  energy: { property: 'energy_kwh', convert: asIs, unit: 'kWh' },
  voltage: { property: 'voltage_volts', convert: asIs, unit: 'V' },
  current: { property: 'current_amperes', convert: asIs, unit: 'A' },
  battery: { property: 'battery_percent', convert: asIs, unit: '%' },
  linkquality: { property: 'link_quality_percent', convert: scaled(100 / 255) },
  occupancy: { property: 'occupied', convert: asIs },
  contact: {
    property: 'open',
    convert: value => (typeof value === 'boolean' ? !value : undefined),
  },
  water_leak: { property: 'leaking', convert: asIs },
  smoke: { property: 'smoke', convert: asIs },
}

/** A reading of a state message. */
interface ZigbeeReading {
  /** Field of the message. */
  field: string
  property: string
  convert: Convert
}

/** Readings that the features publish; one in another unit is left out. */
export const listReadings = (exposes: readonly Feature[]): ZigbeeReading[] =>
  exposes.flatMap(({ name = '', property: field, unit }) => {
    const known = Object.hasOwn(KNOWN, name) ? KNOWN[name] : undefined
    if (known === undefined || field === undefined) return []
    const isOther = known.unit !== undefined && unit !== undefined && unit !== known.unit
    return isOther ? [] : [{ field, property: known.property, convert: known.convert }]
  })
