import zigbeeCover from '../../../profiles/zigbee-cover.ts'
import zigbeeLight from '../../../profiles/zigbee-light.ts'
import zigbeeLock from '../../../profiles/zigbee-lock.ts'
import zigbeeSiren from '../../../profiles/zigbee-siren.ts'
import zigbeeSwitch from '../../../profiles/zigbee-switch.ts'
import type { FoundDevice, MqttCommand } from '../found-device.ts'
import { describeCover, type Motion } from './cover.ts'
import { fieldOf, toFlag } from './fields.ts'
import { ACCESS, type Expose, type Feature } from './zigbee-exposes.ts'

/* What a radio of Zigbee2MQTT can do, from what it exposes (guide, Exposes; exposes.ts of
   zigbee-herdsman-converters). */

/** A part of a radio that takes commands. */
interface ZigbeeActor
  extends Pick<FoundDevice, 'profile' | 'commands' | 'stopVerb' | 'readOnlyReason'> {
  /** Property of its state; the name of the part unless it is `state`. */
  property: string
  /** True when the radio reports the state on request. */
  canBeRead: boolean
  read: (state: unknown) => Readonly<Record<string, unknown>>
}

/** Sends a change of properties. */
type Change = (values: Readonly<Record<string, unknown>>) => Pick<MqttCommand, 'topic' | 'payload'>

/** The actor of an expose; undefined for one that takes no commands. */
export const createActor = (
  expose: Expose,
  exposes: readonly Expose[],
  topic: string,
): ZigbeeActor | undefined => {
  const change: Change = values => ({ topic, payload: values as MqttCommand['payload'] })
  if (expose.type === 'composite' && expose.name === 'warning') return createWarning(expose, change)
  if (expose.type === 'binary' && expose.name !== undefined && ALARMS.includes(expose.name))
    return createAlarm(expose, change)
  const state = expose.features?.find(({ name }) => name === 'state')
  if (state?.property === undefined || !can(state, ACCESS.set)) return undefined
  const create = expose.type === undefined ? undefined : ACTORS[expose.type]
  return create?.({ expose, exposes, state, property: state.property, change })
}

interface Parts {
  expose: Expose
  exposes: readonly Expose[]
  state: Feature
  property: string
  change: Change
}

const can = ({ access = 0 }: Feature, bit: number): boolean => (access & bit) > 0

const createSwitch = ({ state, property, change }: Parts): ZigbeeActor => {
  if (ALARMS.includes(property)) return createAlarm(state, change) as ZigbeeActor
  const { value_on = 'ON', value_off = 'OFF', value_toggle } = state
  return {
    property,
    canBeRead: can(state, ACCESS.get),
    profile: zigbeeSwitch,
    commands: {
      ...createOnOff(state, change),
      ...(value_toggle !== undefined && { toggle: change({ [property]: value_toggle }) }),
    },
    read: json => ({ on: toFlag(fieldOf(json, property), value_on, value_off) }),
  }
}

const createOnOff = (
  { property = 'state', value_on = 'ON', value_off = 'OFF' }: Feature,
  change: Change,
): Record<'on' | 'off', MqttCommand> => ({
  on: { ...change({ [property]: value_on }), confirm: { property: 'on', value: true } },
  off: { ...change({ [property]: value_off }), confirm: { property: 'on', value: false } },
})

const createLight = (parts: Parts): ZigbeeActor => {
  const { expose, state, property, change } = parts
  const plain = { ...createSwitch(parts), profile: zigbeeLight }
  const brightness = expose.features?.find(({ name }) => name === 'brightness')
  const { property: level, value_max: full = 254 } = brightness ?? {}
  if (level === undefined) return plain
  return {
    ...plain,
    commands: {
      ...plain.commands,
      brightness: {
        ...change({ [property]: state.value_on ?? 'ON', [level]: '{level}' }),
        isTemplate: true,
        range: { zero: 0, full },
        confirm: { property: 'on', value: true },
      },
    },
    read: json => ({
      ...plain.read(json),
      brightness_percent: toPercent(fieldOf(json, level), full),
    }),
  }
}

const toPercent = (value: unknown, full: number): number | undefined =>
  typeof value === 'number' ? Math.round((value / full) * 100) : undefined

/** Words by which covers name their motion, in lower case. */
const MOTIONS: Readonly<Record<string, Motion>> = {
  opening: 'opening',
  open: 'opening',
  forward: 'opening',
  up: 'opening',
  closing: 'closing',
  close: 'closing',
  backward: 'closing',
  down: 'closing',
  stopped: 'stopped',
  stop: 'stopped',
  pause: 'stopped',
  idle: 'stopped',
}

const createCover = ({ expose, exposes, state, property, change }: Parts): ZigbeeActor => {
  const position = expose.features?.find(({ name }) => name === 'position')
  const hasMotion = exposes.some(({ name = '' }) => MOTION_NAMES.includes(name))
  const isReported = position !== undefined || can(state, ACCESS.published)
  const move = (word: string, value: string): MqttCommand => ({
    ...change({ [property]: word }),
    ...(isReported && { confirm: { property: 'cover_state', value } }),
  })
  const { values = ['OPEN', 'CLOSE', 'STOP'] } = state
  return {
    property,
    canBeRead: can(position ?? state, ACCESS.get),
    profile: zigbeeCover,
    stopVerb: 'stop',
    commands: {
      ...(values.includes('OPEN') && { open: move('OPEN', 'open') }),
      ...(values.includes('CLOSE') && { close: move('CLOSE', 'closed') }),
      ...(values.includes('STOP') && {
        stop: {
          ...change({ [property]: 'STOP' }),
          ...(hasMotion && { confirm: { property: 'moving', value: false } }),
        },
      }),
      ...(position?.property !== undefined &&
        can(position, ACCESS.set) && {
          position: {
            ...change({ [position.property]: '{percent}' }),
            isTemplate: true,
            confirm: { property: 'position_percent', value: '{percent}', within: 2 },
          },
        }),
    },
    read: json => readCover(json, property, position?.property),
  }
}

const MOTION_NAMES: readonly string[] = ['motor_state', 'moving', 'running']

const readCover = (json: unknown, property: string, positionField: string | undefined) => {
  const position = positionField === undefined ? undefined : fieldOf(json, positionField)
  const state = fieldOf(json, property)
  return describeCover({
    positionPercent: typeof position === 'number' ? position : undefined,
    motion: readMotion(json),
    place: state === 'OPEN' ? 'open' : state === 'CLOSE' ? 'closed' : undefined,
  })
}

const readMotion = (json: unknown): Motion | undefined => {
  const running = fieldOf(json, 'running')
  if (typeof running === 'boolean') return running ? 'moving' : 'stopped'
  const word = String(fieldOf(json, 'motor_state') ?? fieldOf(json, 'moving')).toLowerCase()
  return Object.hasOwn(MOTIONS, word) ? MOTIONS[word] : undefined
}

const createLock = ({ expose, state, property, change }: Parts): ZigbeeActor => {
  const { value_on = 'LOCK', value_off = 'UNLOCK' } = state
  // what the bolt reports is better than what was asked of it last
  const bolt = expose.features?.find(({ name }) => name === 'lock_state')?.property
  return {
    property,
    canBeRead: can(state, ACCESS.get),
    profile: zigbeeLock,
    commands: {
      lock: { ...change({ [property]: value_on }), confirm: { property: 'locked', value: true } },
      unlock: {
        ...change({ [property]: value_off }),
        confirm: { property: 'locked', value: false },
      },
    },
    read: json => ({
      locked:
        bolt === undefined
          ? toFlag(fieldOf(json, property), value_on, value_off)
          : readBolt(fieldOf(json, bolt)),
    }),
  }
}

/** A bolt that is not fully out does not lock. */
const readBolt = (value: unknown): boolean | undefined => {
  if (value === 'locked') return true
  return value === 'unlocked' || value === 'not_fully_locked' ? false : undefined
}

/** Properties of sirens without a tone or a time. */
const ALARMS: readonly string[] = ['alarm', 'siren']

const createAlarm = (feature: Feature, change: Change): ZigbeeActor | undefined => {
  const { property, value_on = 'ON', value_off = 'OFF' } = feature
  if (property === undefined || !can(feature, ACCESS.set)) return undefined
  return {
    property,
    canBeRead: can(feature, ACCESS.get),
    profile: zigbeeSiren,
    commands: createOnOff(feature, change),
    read: json => ({ on: toFlag(fieldOf(json, property), value_on, value_off) }),
  }
}

/** The command `warning` of the IAS WD cluster, which the radio never reports back. */
const createWarning = (warning: Expose, change: Change): ZigbeeActor | undefined => {
  const { property, features = [] } = warning
  const modes = features.find(({ name }) => name === 'mode')?.values ?? []
  const mode = modes.includes('emergency') ? 'emergency' : modes.find(each => each !== 'stop')
  const hasTime = features.some(({ name }) => name === 'duration')
  if (property === undefined || mode === undefined || !can(warning, ACCESS.set)) return undefined
  const off = modes.includes('stop') && change({ [property]: { mode: 'stop' } })
  const sound = { mode, level: 'high', strobe: true, duration: '{seconds}' }
  return {
    property,
    canBeRead: false,
    profile: zigbeeSiren,
    commands: {
      ...(hasTime && { sound: { ...change({ [property]: sound }), isTemplate: true } }),
      ...(off && { off }),
    },
    read: () => ({}),
  }
}

const ACTORS: Readonly<Record<string, (parts: Parts) => ZigbeeActor>> = {
  switch: createSwitch,
  light: createLight,
  cover: createCover,
  lock: createLock,
}
