import homeAssistantLight from '../../../profiles/home-assistant-light.ts'
import homeAssistantLock from '../../../profiles/home-assistant-lock.ts'
import homeAssistantSiren from '../../../profiles/home-assistant-siren.ts'
import homeAssistantSwitch from '../../../profiles/home-assistant-switch.ts'
import type { MqttCommand, TopicReader } from '../found-device.ts'
import { renderCommand } from './command-template.ts'
import { fieldOf, toFlag, toNumber, toWord } from './fields.ts'
import type { Entity } from './home-assistant-entity.ts'
import { type EntityDevice, readOn, readState, readTopic } from './home-assistant-state.ts'
import { mergeReaders } from './merge-readers.ts'

/** Reason for an entity whose commands need a program to be written. */
const UNKNOWN_TEMPLATE = 'its command template is not supported'

type Commands = Record<string, MqttCommand>

/** Commands, or the reason why there are none: one that is not understood makes all doubtful. */
export const toCommands = (
  commands: Readonly<Record<string, MqttCommand | undefined>>,
): Pick<EntityDevice, 'commands' | 'readOnlyReason'> =>
  Object.values(commands).includes(undefined)
    ? { commands: {}, readOnlyReason: UNKNOWN_TEMPLATE }
    : { commands: commands as Commands }

/** Command that sends a word, by way of the command template. */
const sendWord = (
  { command_topic: topic, command_template }: Entity,
  word: string,
  confirm: MqttCommand['confirm'],
): MqttCommand | undefined => {
  const payload = renderCommand(command_template, { value: word })
  if (topic === undefined || payload === undefined) return undefined
  return { topic, payload, ...(confirm && { confirm }) }
}

export const createSwitch = (entity: Entity): EntityDevice | undefined => {
  const { command_topic, payload_on = 'ON', payload_off = 'OFF' } = entity
  if (command_topic === undefined) return undefined
  const topics = readState(entity, value => ({ on: readOn(entity, value) }))
  const confirm = (value: boolean) => (topics.size > 0 ? { property: 'on', value } : undefined)
  return {
    profile: homeAssistantSwitch,
    ...toCommands({
      on: sendWord(entity, payload_on, confirm(true)),
      off: sendWord(entity, payload_off, confirm(false)),
    }),
    topics,
  }
}

export const createLight = (entity: Entity): EntityDevice | undefined => {
  const { command_topic, schema = 'basic' } = entity
  if (command_topic === undefined || schema === 'template') return undefined
  return schema === 'json' ? createJsonLight(entity, command_topic) : createBasicLight(entity)
}

const createBasicLight = (entity: Entity): EntityDevice | undefined => {
  const { brightness_command_topic: topic, brightness_scale: full = 255 } = entity
  const value_template = entity.state_value_template ?? entity.value_template
  const plain = createSwitch({ ...entity, value_template })
  if (plain === undefined || plain.readOnlyReason !== undefined || topic === undefined) return plain
  const payload = renderCommand(entity.brightness_command_template, { value: '{level}' })
  const dim = payload && ({ topic, payload, isTemplate: true, range: { zero: 0, full } } as const)
  const levels = readTopic(
    entity.brightness_state_topic,
    entity.brightness_value_template,
    value => ({ brightness_percent: toPercent(toNumber(value), full) }),
  )
  return {
    ...plain,
    profile: homeAssistantLight,
    commands: { ...plain.commands, ...(dim && { brightness: dim }) },
    topics: mergeReaders([...plain.topics, ...levels]),
  }
}

const createJsonLight = (entity: Entity, topic: string): EntityDevice => {
  const { state_topic, brightness, brightness_scale: full = 255 } = entity
  const modes = entity.supported_color_modes ?? []
  const canDim = brightness === true || modes.some(mode => !['onoff', 'white'].includes(mode))
  const confirm = (value: boolean) => state_topic && { confirm: { property: 'on', value } }
  const read: TopicReader = ({ json }) => ({
    values: {
      on: toFlag(fieldOf(json, 'state'), 'ON', 'OFF'),
      brightness_percent: toPercent(fieldOf(json, 'brightness'), full),
    },
  })
  return {
    profile: homeAssistantLight,
    commands: {
      on: { topic, payload: { state: 'ON' }, ...confirm(true) },
      off: { topic, payload: { state: 'OFF' }, ...confirm(false) },
      ...(canDim && {
        brightness: {
          topic,
          payload: { state: 'ON', brightness: '{level}' },
          isTemplate: true,
          range: { zero: 0, full },
        },
      }),
    },
    topics: new Map(state_topic === undefined ? [] : [[state_topic, read]]),
  }
}

const toPercent = (level: unknown, full: number): number | undefined =>
  typeof level === 'number' ? Math.round((level / full) * 100) : undefined

export const createLock = (entity: Entity): EntityDevice | undefined => {
  const { command_topic, payload_lock = 'LOCK', payload_unlock = 'UNLOCK', payload_open } = entity
  const { state_locked = 'LOCKED', state_unlocked = 'UNLOCKED', code_format } = entity
  if (command_topic === undefined) return undefined
  const topics = readState(entity, value => ({
    locked: toFlag(toWord(value), state_locked, state_unlocked),
  }))
  const confirm = (value: boolean) => (topics.size > 0 ? { property: 'locked', value } : undefined)
  const described = { profile: homeAssistantLock, topics }
  if (code_format) return { ...described, commands: {}, readOnlyReason: 'its commands need a code' }
  return {
    ...described,
    ...toCommands({
      lock: sendWord(entity, payload_lock, confirm(true)),
      unlock: sendWord(entity, payload_unlock, confirm(false)),
      ...(payload_open !== undefined &&
        payload_open !== null && { open: sendWord(entity, toWord(payload_open), undefined) }),
    }),
  }
}

export const createSiren = (entity: Entity): EntityDevice | undefined => {
  const { command_topic: topic, command_template: template, support_duration = true } = entity
  const { payload_on = 'ON', payload_off = 'OFF', command_off_template = template } = entity
  if (topic === undefined) return undefined
  const readSiren = (value: unknown) => ({ on: readOn(entity, readSirenState(value)) })
  const topics = readTopic(entity.state_topic, entity.state_value_template, readSiren)
  const confirm = (value: boolean) => topics.size > 0 && { confirm: { property: 'on', value } }
  const payloadOf = (by: string | undefined, state: string, more: Record<string, string> = {}) =>
    by === undefined ? { state, ...more } : renderCommand(by, { value: state, state, ...more })
  const send = (payload: MqttCommand['payload'] | undefined, ...more: Partial<MqttCommand>[]) =>
    payload === undefined ? undefined : Object.assign({ topic, payload }, ...more)
  const time = { duration: '{seconds}' }
  return {
    profile: homeAssistantSiren,
    topics,
    ...toCommands({
      on: send(payloadOf(template, payload_on), confirm(true) || {}),
      off: send(payloadOf(command_off_template, payload_off), confirm(false) || {}),
      ...(support_duration && {
        sound: send(payloadOf(template, payload_on, time), { isTemplate: true }),
      }),
    }),
  }
}

/** A word, or an object with the word in `state`. */
const readSirenState = (value: unknown): unknown => {
  if (typeof value !== 'string') return fieldOf(value, 'state') ?? value
  try {
    return fieldOf(JSON.parse(value), 'state') ?? value
  } catch {
    return value
  }
}
