import * as z from 'zod'
import { Num, optional, Text, toFields, toWord } from './fields.ts'

/* Configuration messages of Home Assistant's MQTT discovery, whose keys may be abbreviated. */

/** Abbreviations of the keys that are read here (Home Assistant, components/mqtt/abbreviations.py). */
const ABBREVIATIONS: Readonly<Record<string, string>> = {
  avty: 'availability',
  avty_mode: 'availability_mode',
  avty_t: 'availability_topic',
  avty_tpl: 'availability_template',
  bri_cmd_t: 'brightness_command_topic',
  bri_cmd_tpl: 'brightness_command_template',
  bri_scl: 'brightness_scale',
  bri_stat_t: 'brightness_state_topic',
  bri_val_tpl: 'brightness_value_template',
  cmd_off_tpl: 'command_off_template',
  cmd_t: 'command_topic',
  cmd_tpl: 'command_template',
  cmps: 'components',
  cns: 'connections',
  dev: 'device',
  dev_cla: 'device_class',
  ids: 'identifiers',
  p: 'platform',
  pl_avail: 'payload_available',
  pl_cls: 'payload_close',
  pl_lock: 'payload_lock',
  pl_not_avail: 'payload_not_available',
  pl_off: 'payload_off',
  pl_on: 'payload_on',
  pl_open: 'payload_open',
  pl_stop: 'payload_stop',
  pl_unlk: 'payload_unlock',
  pos_clsd: 'position_closed',
  pos_open: 'position_open',
  pos_t: 'position_topic',
  pos_tpl: 'position_template',
  set_pos_t: 'set_position_topic',
  set_pos_tpl: 'set_position_template',
  stat_clsd: 'state_closed',
  stat_closing: 'state_closing',
  stat_locked: 'state_locked',
  stat_off: 'state_off',
  stat_on: 'state_on',
  stat_open: 'state_open',
  stat_opening: 'state_opening',
  stat_stopped: 'state_stopped',
  stat_t: 'state_topic',
  stat_unlocked: 'state_unlocked',
  stat_val_tpl: 'state_value_template',
  sup_clrm: 'supported_color_modes',
  sup_dur: 'support_duration',
  t: 'topic',
  uniq_id: 'unique_id',
  unit_of_meas: 'unit_of_measurement',
  val_tpl: 'value_template',
}

const Topic = optional(z.string().min(1).max(256))
const Template = optional(z.string().max(2048))
const Word = optional(z.union([z.string(), z.number(), z.boolean()]).transform(toWord))
/** A word, or null for a command that the device does not have. */
const OptionalWord = optional(z.union([z.string(), z.number(), z.boolean()]).nullable())
const Flag = optional(z.boolean())

const AVAILABILITY = {
  payload_available: z.string().catch('online'),
  payload_not_available: z.string().catch('offline'),
}

const Availability = z.object({ ...AVAILABILITY, topic: z.string(), value_template: Template })

const Device = z.object({
  name: Text,
  identifiers: optional(z.union([z.string(), z.array(z.string()).max(16)])),
  connections: optional(z.array(z.tuple([z.string(), z.string()])).max(16)),
})

/** An entity, with the abbreviations and `~` resolved. */
export const Entity = z.object({
  ...AVAILABILITY,
  /** Null for an entity that has the name of its device. */
  name: optional(z.string().max(256).nullable()),
  unique_id: Text,
  device: Device.catch({}),
  device_class: Text,
  schema: Text,
  state_topic: Topic,
  value_template: Template,
  state_value_template: Template,
  command_topic: Topic,
  command_template: Template,
  command_off_template: Template,
  payload_on: Word,
  payload_off: Word,
  state_on: Word,
  state_off: Word,
  brightness: Flag,
  brightness_command_topic: Topic,
  brightness_command_template: Template,
  brightness_state_topic: Topic,
  brightness_value_template: Template,
  brightness_scale: Num,
  supported_color_modes: optional(z.array(z.string().max(32)).max(16)),
  payload_open: OptionalWord,
  payload_close: OptionalWord,
  payload_stop: OptionalWord,
  state_open: Word,
  state_opening: Word,
  state_closed: Word,
  state_closing: Word,
  state_stopped: Word,
  position_topic: Topic,
  position_template: Template,
  set_position_topic: Topic,
  set_position_template: Template,
  position_open: Num,
  position_closed: Num,
  payload_lock: Word,
  payload_unlock: Word,
  state_locked: Word,
  state_unlocked: Word,
  code_format: optional(z.string().nullable()),
  support_duration: Flag,
  unit_of_measurement: Text,
  availability_topic: Topic,
  availability_template: Template,
  availability_mode: optional(z.enum(['all', 'any', 'latest'])),
  availability: optional(
    z.union([z.array(Availability).max(8), Availability.transform(one => [one])]),
  ),
})
export type Entity = z.infer<typeof Entity>

type Fields = Readonly<Record<string, unknown>>

/** Levels of nested fields that have abbreviations. */
const MAX_DEPTH = 4

/** Writes abbreviated keys in full, and `~` at an end of a topic as the base topic. */
const expandFields = (value: unknown, base = '', depth = 0): unknown => {
  if (depth > MAX_DEPTH || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value))
    return value.slice(0, 64).map(each => expandFields(each, base, depth + 1))
  const own = (value as Fields)['~']
  const inner = typeof own === 'string' ? own : base
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== '~')
      .map(([short, each]) => {
        const name = Object.hasOwn(ABBREVIATIONS, short) ? (ABBREVIATIONS[short] ?? short) : short
        return [name, expandField(name, each, inner, depth)]
      }),
  )
}

const expandField = (name: string, value: unknown, base: string, depth: number): unknown => {
  const isTopic = typeof value === 'string' && name.endsWith('topic') && base !== ''
  return isTopic ? value.replace(/^~|~$/, () => base) : expandFields(value, base, depth + 1)
}

/** Kinds of entities that become devices. */
const ENTITY_KINDS = [
  'switch',
  'light',
  'cover',
  'lock',
  'siren',
  'sensor',
  'binary_sensor',
] as const
export type EntityKind = (typeof ENTITY_KINDS)[number]

const isEntityKind = (kind: unknown): kind is EntityKind =>
  (ENTITY_KINDS as readonly unknown[]).includes(kind)

/** Options that a device's message gives all of its components. */
const SHARED_OPTIONS: readonly string[] = [
  'availability',
  'availability_mode',
  'availability_template',
  'availability_topic',
  'command_topic',
  'device',
  'payload_available',
  'payload_not_available',
  'state_topic',
]

/** An entity of a configuration message, with its kind and its place in the message. */
export interface PlacedEntity {
  kind: EntityKind
  /** Empty for a message about one entity. */
  place: string
  entity: Entity
}

/** Entities of a message: one, or the components of a device (topic `…/device/…/config`). */
export const listEntities = (kind: string, json: unknown): PlacedEntity[] => {
  const fields = toFields(expandFields(json))
  const parts = kind === 'device' ? listComponents(fields) : [{ kind, place: '', fields }]
  return parts.flatMap(({ kind, place, fields }) => {
    const { data: entity } = Entity.safeParse(fields)
    return entity !== undefined && isEntityKind(kind) ? [{ kind, place, entity }] : []
  })
}

const listComponents = ({ components, ...rest }: Fields) => {
  const shared = Object.fromEntries(
    Object.entries(rest).filter(([name]) => SHARED_OPTIONS.includes(name)),
  )
  return Object.entries(toFields(components))
    .slice(0, 64)
    .map(([place, own]) => {
      const fields: Fields = { ...shared, ...toFields(own) }
      return { kind: fields.platform, place, fields }
    })
}
