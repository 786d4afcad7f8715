import type { PropertyFacts } from '../../../shared/wire/device.ts'
import { SHARED_PROPERTIES } from '../../properties.ts'

/** Many devices report only every few minutes, or when something changes. */
const STALE_AFTER_MS = 900_000
/** Sensors with a battery report its charge about once a day. */
const BATTERY_STALE_AFTER_MS = 86_400_000

const createNumber = (title: string, unit: string): PropertyFacts => ({
  title,
  type: 'number',
  unit,
  stale_after_ms: STALE_AFTER_MS,
})

const createFlag = (title: string): PropertyFacts => ({
  title,
  type: 'boolean',
  stale_after_ms: STALE_AFTER_MS,
})

const slowly = (facts: PropertyFacts): PropertyFacts => ({
  ...facts,
  stale_after_ms: STALE_AFTER_MS,
})

/** Readings that switches, lights and sensors share. */
const MQTT_PROPERTIES = {
  on: createFlag('On'),
  brightness_percent: createNumber('Brightness', '%'),
  power_watts: slowly(SHARED_PROPERTIES.power_watts),
  energy_kwh: createNumber('Energy', 'kWh'),
  voltage_volts: createNumber('Voltage', 'V'),
  current_amperes: createNumber('Current', 'A'),
  temperature_celsius: slowly(SHARED_PROPERTIES.temperature_celsius),
  humidity_percent: createNumber('Humidity', '%'),
  pressure_hpa: createNumber('Pressure', 'hPa'),
  illuminance_lux: createNumber('Illuminance', 'lx'),
  co2_ppm: createNumber('Carbon dioxide', 'ppm'),
  battery_percent: {
    ...SHARED_PROPERTIES.battery_percent,
    stale_after_ms: BATTERY_STALE_AFTER_MS,
  },
  link_quality_percent: slowly(SHARED_PROPERTIES.link_quality_percent),
  occupied: createFlag('Occupied'),
  open: createFlag('Open'),
  leaking: createFlag('Water leak'),
  smoke: createFlag('Smoke'),
  active: createFlag('Active'),
  moving: createFlag('Moving'),
  locked: createFlag('Locked'),
  cover_state: {
    title: 'State',
    type: 'text',
    options: [
      'open',
      'closed',
      'partly_open',
      'stopped',
      'opening',
      'closing',
      'moving',
      'calibrating',
    ],
    stale_after_ms: STALE_AFTER_MS,
  },
  position_percent: { ...createNumber('Position, 100 is open', '%'), min: 0, max: 100 },
  value: { title: 'Value', type: 'number', stale_after_ms: STALE_AFTER_MS },
  text: { title: 'Text', type: 'text', stale_after_ms: STALE_AFTER_MS },
} as const satisfies Record<string, PropertyFacts>

type MqttProperty = keyof typeof MQTT_PROPERTIES

const pick = (...names: MqttProperty[]): Record<string, PropertyFacts> =>
  Object.fromEntries(names.map(name => [name, MQTT_PROPERTIES[name]]))

const POWER = ['power_watts', 'energy_kwh', 'voltage_volts', 'current_amperes'] as const

export const SWITCH_PROPERTIES = pick('on', ...POWER, 'temperature_celsius', 'link_quality_percent')

export const LIGHT_PROPERTIES = pick(
  'on',
  'brightness_percent',
  'power_watts',
  'link_quality_percent',
)

export const COVER_PROPERTIES = pick(
  'cover_state',
  'moving',
  'position_percent',
  ...POWER,
  'temperature_celsius',
  'battery_percent',
  'link_quality_percent',
)

export const LOCK_PROPERTIES = pick('locked', 'open', 'battery_percent', 'link_quality_percent')

export const SIREN_PROPERTIES = pick('on', 'smoke', 'battery_percent', 'link_quality_percent')

export const SENSOR_PROPERTIES = pick(
  ...POWER,
  'temperature_celsius',
  'humidity_percent',
  'pressure_hpa',
  'illuminance_lux',
  'co2_ppm',
  'battery_percent',
  'link_quality_percent',
  'occupied',
  'open',
  'leaking',
  'smoke',
  'active',
  'value',
  'text',
)
