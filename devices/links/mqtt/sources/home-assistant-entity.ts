import * as z from 'zod'
import { Num, optional, Text, toFields } from './fields.ts'

/* Configuration messages of Home Assistant's MQTT discovery, whose keys may be abbreviated. */

/** Abbreviations of the keys that are read here (Home Assistant, MQTT, discovery payload). */
const ABBREVIATIONS: Readonly<Record<string, string>> = {
  avty: 'availability',
  avty_mode: 'availability_mode',
  avty_t: 'availability_topic',
  bri_cmd_t: 'brightness_command_topic',
  bri_scl: 'brightness_scale',
  bri_stat_t: 'brightness_state_topic',
  cmd_t: 'command_topic',
  cmps: 'components',
  cns: 'connections',
  dev: 'device',
  dev_cla: 'device_class',
  ids: 'identifiers',
  p: 'platform',
  pl_avail: 'payload_available',
  pl_not_avail: 'payload_not_available',
  pl_off: 'payload_off',
  pl_on: 'payload_on',
  stat_off: 'state_off',
  stat_on: 'state_on',
  stat_t: 'state_topic',
  t: 'topic',
  uniq_id: 'unique_id',
  unit_of_meas: 'unit_of_measurement',
  val_tpl: 'value_template',
}

const Topic = optional(z.string().min(1).max(256))
const Word = optional(z.union([z.string(), z.number(), z.boolean()]).transform(String))

const Availability = z.object({
  topic: z.string(),
  payload_available: z.string().catch('online'),
  payload_not_available: z.string().catch('offline'),
})

const Device = z.object({
  name: Text,
  identifiers: optional(z.union([z.string(), z.array(z.string()).max(16)])),
  connections: optional(z.array(z.tuple([z.string(), z.string()])).max(16)),
})

/** An entity, with the abbreviations and `~` resolved. */
export const Entity = z.object({
  name: Text,
  unique_id: Text,
  state_topic: Topic,
  command_topic: Topic,
  brightness_command_topic: Topic,
  brightness_scale: Num,
  schema: Text,
  value_template: Text,
  payload_on: Word,
  payload_off: Word,
  state_on: Word,
  state_off: Word,
  brightness: optional(z.boolean()),
  device_class: Text,
  unit_of_measurement: Text,
  availability_topic: Topic,
  payload_available: z.string().catch('online'),
  payload_not_available: z.string().catch('offline'),
  availability: optional(z.array(Availability).max(8)),
  device: Device.catch({}),
})
export type Entity = z.infer<typeof Entity>

type Fields = Readonly<Record<string, unknown>>

/** Levels of nested fields that have abbreviations. */
const MAX_DEPTH = 4

/** Writes abbreviated keys in full, and `~` at an end of a topic as the base topic. */
export const expandFields = (value: unknown, base = '', depth = 0): unknown => {
  if (typeof value === 'string') return base === '' ? value : value.replace(/^~|~$/, base)
  if (depth > MAX_DEPTH || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value))
    return value.slice(0, 64).map(each => expandFields(each, base, depth + 1))
  const own = (value as Fields)['~']
  const inner = typeof own === 'string' ? own : base
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== '~')
      .map(([name, each]) => [
        Object.hasOwn(ABBREVIATIONS, name) ? (ABBREVIATIONS[name] ?? name) : name,
        expandFields(each, inner, depth + 1),
      ]),
  )
}

/** Kinds of entities that become devices. */
export const ENTITY_KINDS: readonly string[] = ['switch', 'light', 'sensor', 'binary_sensor']

/** An entity of a configuration message, with its kind and its place in the message. */
export interface PlacedEntity {
  kind: string
  /** Empty for a message about one entity. */
  place: string
  entity: Entity
}

/** Entities of a message: one, or the components of a device (topic `…/device/…/config`). */
export const listEntities = (kind: string, json: unknown): PlacedEntity[] => {
  const fields = toFields(expandFields(json))
  const { components, ...shared } = fields
  const parts =
    kind === 'device'
      ? Object.entries(toFields(components))
          .slice(0, 64)
          .map(([place, own]) => ({ place, own: { ...shared, ...toFields(own) } }))
      : [{ place: '', own: fields }]
  return parts.flatMap(({ place, own }) => {
    const platform = kind === 'device' ? String((own as Fields).platform) : kind
    const { data } = Entity.safeParse(own)
    return data !== undefined && ENTITY_KINDS.includes(platform)
      ? [{ kind: platform, place, entity: data }]
      : []
  })
}
