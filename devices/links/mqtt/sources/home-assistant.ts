import { toName } from '../../../declared/values.ts'
import homeAssistantLight from '../../../profiles/home-assistant-light.ts'
import homeAssistantSensor from '../../../profiles/home-assistant-sensor.ts'
import homeAssistantSwitch from '../../../profiles/home-assistant-switch.ts'
import type { FoundDevice, MqttCommand, Source, TopicReader } from '../found-device.ts'
import { fieldOf, toFlag } from './fields.ts'
import { type Entity, listEntities, type PlacedEntity } from './home-assistant-entity.ts'
import { parseValueTemplate } from './value-template.ts'

/* Home Assistant's MQTT discovery: `PREFIX/KIND/[NODE/]OBJECT/config`; an empty message removes. */

interface HomeAssistantOptions {
  prefix: string
  /** Namespace of entities without an id of their own. */
  scope: string
  /** True when the entities of Zigbee2MQTT are found by their own source. */
  skipsZigbee: boolean
}

export const createHomeAssistantSource = (options: HomeAssistantOptions): Source => ({
  filters: [`${options.prefix}/+/+/config`, `${options.prefix}/+/+/+/config`],
  read: (topic, { text, json }) => {
    if (text === '') return []
    const kind = topic.slice(options.prefix.length + 1).split('/')[0] ?? ''
    return listEntities(kind, json).flatMap(placed => createDevice(options, topic, placed) ?? [])
  },
})

const createDevice = (
  { scope, skipsZigbee }: HomeAssistantOptions,
  topic: string,
  { kind, place, entity }: PlacedEntity,
): FoundDevice | undefined => {
  const hardware = identify(entity)
  if (skipsZigbee && /^zigbee2mqtt_/.test(hardware)) return undefined
  const create = kind === 'switch' ? createSwitch : kind === 'light' ? createLight : createSensor
  const made = create(entity, kind)
  if (made === undefined) return undefined
  const own = entity.unique_id ?? `${scope}:${topic}:${place}`
  const names = [entity.device.name, entity.name].filter(name => name !== undefined)
  return {
    ...made,
    identity: `home-assistant:${hardware}:${own}`,
    name: toName([...new Set(names)].join(' '), own),
    topics: new Map([...readAvailability(entity), ...made.topics]),
  }
}

/** The MAC address of the device, or else its first identifier; empty without both. */
const identify = ({ device }: Entity): string => {
  const mac = device.connections?.find(([type]) => type === 'mac')?.[1]
  const [first = ''] = [device.identifiers ?? []].flat()
  return mac?.toLowerCase() ?? first
}

type Made = Pick<FoundDevice, 'profile' | 'commands' | 'topics'>

const createSwitch = (entity: Entity): Made | undefined => {
  const { command_topic: topic, payload_on = 'ON', payload_off = 'OFF', state_topic } = entity
  if (topic === undefined) return undefined
  const topics = readState(entity, value => ({ on: toOn(entity, value) }))
  const commands = createOnOff(topic, payload_on, payload_off, state_topic !== undefined)
  return { profile: homeAssistantSwitch, commands, topics }
}

const createLight = (entity: Entity): Made | undefined => {
  const { command_topic: topic, schema, state_topic, brightness_scale: full = 255 } = entity
  if (topic === undefined || schema === 'template') return undefined
  if (schema !== 'json') {
    const made = createSwitch(entity)
    const { brightness_command_topic: dim } = entity
    const brightness = { topic: dim ?? '', payload: '{brightness}', full }
    const commands = { ...made?.commands, ...(dim !== undefined && { brightness }) }
    return made && { ...made, profile: homeAssistantLight, commands }
  }
  const isConfirmed = state_topic !== undefined
  const commands = createOnOff(topic, { state: 'ON' }, { state: 'OFF' }, isConfirmed)
  const payload = { state: 'ON', brightness: '{brightness}' }
  const readLight: TopicReader = ({ json }) => {
    const level = fieldOf(json, 'brightness')
    const brightness_percent =
      typeof level === 'number' ? Math.round((level / full) * 100) : undefined
    return { values: { on: toFlag(fieldOf(json, 'state'), 'ON', 'OFF'), brightness_percent } }
  }
  return {
    profile: homeAssistantLight,
    commands: { ...commands, ...(entity.brightness && { brightness: { topic, payload, full } }) },
    topics: new Map(state_topic === undefined ? [] : [[state_topic, readLight]]),
  }
}

const createOnOff = (
  topic: string,
  on: MqttCommand['payload'],
  off: MqttCommand['payload'],
  isConfirmed: boolean,
): Record<string, MqttCommand> => ({
  on: { topic, payload: on, ...(isConfirmed && { confirm: { property: 'on', value: true } }) },
  off: { topic, payload: off, ...(isConfirmed && { confirm: { property: 'on', value: false } }) },
})

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

const createSensor = (entity: Entity, kind: string): Made | undefined => {
  const { state_topic, device_class = '', unit_of_measurement: unit } = entity
  if (state_topic === undefined) return undefined
  const read = (value: unknown) => {
    if (kind === 'binary_sensor') return { [FLAGS[device_class] ?? 'active']: toOn(entity, value) }
    const known = CLASSES[`${device_class} ${unit}`]
    if (known !== undefined) return { [known]: value }
    return { [unit === undefined ? 'text' : 'value']: value }
  }
  return { profile: homeAssistantSensor, commands: {}, topics: readState(entity, read) }
}

const toOn = (
  { payload_on = 'ON', payload_off = 'OFF', state_on, state_off }: Entity,
  value: unknown,
): boolean | undefined => toFlag(String(value), state_on ?? payload_on, state_off ?? payload_off)

/** Reader of the state topic; none for a value template that is not understood. */
const readState = (
  { state_topic, value_template }: Entity,
  read: (value: unknown) => Readonly<Record<string, unknown>>,
): Map<string, TopicReader> => {
  const readValue = parseValueTemplate(value_template)
  if (state_topic === undefined || readValue === undefined) return new Map()
  return new Map([[state_topic, payload => ({ values: read(readValue(payload)) })]])
}

const readAvailability = ({
  availability = [],
  availability_topic: topic,
  payload_available,
  payload_not_available,
}: Entity): [string, TopicReader][] => {
  const single = topic === undefined ? [] : [{ topic, payload_available, payload_not_available }]
  return [...availability, ...single].map(each => [
    each.topic,
    ({ text, json }) => {
      const word = fieldOf(json, 'state') ?? text
      const available = toFlag(word, each.payload_available, each.payload_not_available)
      return available === undefined ? undefined : { available }
    },
  ])
}
