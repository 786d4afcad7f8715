import homeAssistantSensor from '../../../profiles/home-assistant-sensor.ts'
import type { FoundDevice } from '../found-device.ts'
import type { Entity } from './home-assistant-entity.ts'
import { readOn, readState } from './home-assistant-state.ts'

/** Properties by class and unit. */
const CLASSES: Readonly<Record<string, string>> = {
  'temperature °C': 'temperature_celsius',
  'humidity %': 'humidity_percent',
  'pressure hPa': 'pressure_hpa',
  'atmospheric_pressure hPa': 'pressure_hpa',
  'illuminance lx': 'illuminance_lux',
  'carbon_dioxide ppm': 'co2_ppm',
  'power W': 'power_watts',
  'energy kWh': 'energy_kwh',
  'voltage V': 'voltage_volts',
  'current A': 'current_amperes',
  'battery %': 'battery_percent',
}

/** Properties of sensors with two states, by class. */
const FLAGS: Readonly<Record<string, string>> = {
  occupancy: 'occupied',
  motion: 'occupied',
  door: 'open',
  window: 'open',
  opening: 'open',
  moisture: 'leaking',
  smoke: 'smoke',
}

type Made = Pick<FoundDevice, 'profile' | 'commands' | 'topics'>

export const createBinarySensor = (entity: Entity): Made | undefined => {
  const { device_class = '', state_topic } = entity
  const property = FLAGS[device_class] ?? 'active'
  if (state_topic === undefined) return undefined
  const topics = readState(entity, value => ({ [property]: readOn(entity, value) }))
  return { profile: homeAssistantSensor, commands: {}, topics }
}

export const createSensor = (entity: Entity): Made | undefined => {
  const { state_topic, device_class = '', unit_of_measurement: unit } = entity
  if (state_topic === undefined) return undefined
  const property = CLASSES[`${device_class} ${unit}`] ?? (unit === undefined ? 'text' : 'value')
  const topics = readState(entity, value => ({ [property]: value }))
  return { profile: homeAssistantSensor, commands: {}, topics }
}
