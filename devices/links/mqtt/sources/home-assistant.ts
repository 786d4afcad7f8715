import { toName } from '../../../declared/values.ts'
import type { FoundDevice, Source, TopicReader } from '../found-device.ts'
import { toFlag, toWord } from './fields.ts'
import { createLight, createLock, createSiren, createSwitch } from './home-assistant-actors.ts'
import { createCover } from './home-assistant-cover.ts'
import {
  type Entity,
  type EntityKind,
  listEntities,
  type PlacedEntity,
} from './home-assistant-entity.ts'
import { createBinarySensor, createSensor } from './home-assistant-sensors.ts'
import type { EntityDevice } from './home-assistant-state.ts'
import { mergeReaders } from './merge-readers.ts'
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
    const levels = topic.slice(options.prefix.length + 1).split('/')
    const entities = listEntities(levels[0] ?? '', json)
    const names = entities.map(placed => nameEntity(placed, levels.at(-2) ?? ''))
    return entities.flatMap((placed, at) => {
      const name = names[at] ?? ''
      const isTaken = names.indexOf(name) !== names.lastIndexOf(name)
      const distinct = isTaken ? `${name} ${placed.place}` : name
      return createDevice(options, topic, placed, distinct) ?? []
    })
  },
})

/** Name of an entity: that of its device, and its own unless it is null. */
const nameEntity = ({ place, entity }: PlacedEntity, object: string): string => {
  const { device, name, device_class } = entity
  const own = name === undefined ? (device_class ?? (place === '' ? object : place)) : name
  const parts = [device.name, own].filter(part => part !== undefined && part !== null)
  return [...new Set(parts)].join(' ')
}

const CREATE: Readonly<Record<EntityKind, (entity: Entity) => EntityDevice | undefined>> = {
  switch: createSwitch,
  light: createLight,
  cover: createCover,
  lock: createLock,
  siren: createSiren,
  sensor: createSensor,
  binary_sensor: createBinarySensor,
}

const createDevice = (
  { scope, skipsZigbee }: HomeAssistantOptions,
  topic: string,
  { kind, place, entity }: PlacedEntity,
  name: string,
): FoundDevice | undefined => {
  const hardware = identify(entity)
  if (skipsZigbee && /^zigbee2mqtt_/.test(hardware)) return undefined
  const made = CREATE[kind](entity)
  if (made === undefined) return undefined
  const own = entity.unique_id ?? `${scope}:${topic}:${place}`
  return {
    ...made,
    identity: `home-assistant:${hardware}:${own}`,
    name: toName(name, own),
    topics: mergeReaders([...readAvailability(entity), ...made.topics]),
    availabilityMode: entity.availability_mode ?? 'latest',
  }
}

/** The MAC address of the device, or else its first identifier; empty without both. */
const identify = ({ device }: Entity): string => {
  const mac = device.connections?.find(([type]) => type === 'mac')?.[1]
  const [first = ''] = [device.identifiers ?? []].flat()
  return mac?.toLowerCase() ?? first
}

const readAvailability = ({
  availability = [],
  availability_topic: topic,
  availability_template: value_template,
  payload_available,
  payload_not_available,
}: Entity): [string, TopicReader][] => {
  const words = { payload_available, payload_not_available }
  const single = topic === undefined ? [] : [{ topic, value_template, ...words }]
  return [...availability, ...single].flatMap(each => {
    const readValue = parseValueTemplate(each.value_template)
    if (readValue === undefined) return []
    const read: TopicReader = payload => {
      const word = toWord(readValue(payload))
      const available = toFlag(word, each.payload_available, each.payload_not_available)
      return available === undefined ? undefined : { available }
    }
    return [[each.topic, read]]
  })
}
