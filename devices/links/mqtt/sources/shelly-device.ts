import shellyCover from '../../../profiles/shelly-cover.ts'
import shellyLight from '../../../profiles/shelly-light.ts'
import shellySwitch from '../../../profiles/shelly-switch.ts'
import type { FoundDevice, MqttCommand, TopicReader } from '../found-device.ts'
import { describeCover, type Motion } from './cover.ts'
import { fieldOf, toFlag, toSignalPercent } from './fields.ts'

/** A Shelly, as its messages show it. */
export interface Shelly {
  /** First levels of its topics. */
  prefix: string
  name: string
  mac: string
  /** First levels of the topic to which it sends its answers. */
  reply: string
  /** Names of its components that are devices: `switch:0`. */
  components: readonly string[]
}

export interface ShellyComponent {
  kind: 'switch' | 'cover' | 'light'
  channel: number
  /** `cover:0` */
  name: string
}

type Request = (method: string, params?: object) => Pick<MqttCommand, 'topic' | 'payload'>

/** A component of a Shelly; each is a device of its own. */
export const createShellyDevice = (shelly: Shelly, component: ShellyComponent): FoundDevice => {
  const { prefix, name, mac, components, reply } = shelly
  const { kind, channel } = component
  const request: Request = (method, params = {}) => ({
    topic: `${prefix}/rpc`,
    payload: { id: 1, src: 'shoal', method, params: { id: channel, ...params } },
  })
  const { profile, commands, read } = KINDS[kind](request)
  const part = kind === 'switch' ? `${channel}` : component.name
  const question = { id: 0, src: reply, method: 'Shelly.GetStatus' }
  return {
    identity: `shelly:${mac}:${part}`,
    name: components.length === 1 ? name : `${name}:${part}`,
    profile,
    commands,
    ...(kind === 'cover' && { stopVerb: 'stop' }),
    topics: createReaders(shelly, component, read),
    question: { topic: `${prefix}/rpc`, payload: JSON.stringify(question) },
  }
}

type ReadStatus = (status: unknown) => Readonly<Record<string, unknown>>

interface Kind {
  profile: FoundDevice['profile']
  commands: Record<string, MqttCommand>
  read: ReadStatus
}

const isOn = (value: boolean) => ({ property: 'on', value })

const KINDS: Readonly<Record<ShellyComponent['kind'], (request: Request) => Kind>> = {
  switch: request => ({
    profile: shellySwitch,
    commands: {
      on: { ...request('Switch.Set', { on: true }), confirm: isOn(true) },
      off: { ...request('Switch.Set', { on: false }), confirm: isOn(false) },
      toggle: request('Switch.Toggle'),
    },
    read: status => ({ on: fieldOf(status, 'output') }),
  }),
  light: request => ({
    profile: shellyLight,
    commands: {
      on: { ...request('Light.Set', { on: true }), confirm: isOn(true) },
      off: { ...request('Light.Set', { on: false }), confirm: isOn(false) },
      brightness: {
        ...request('Light.Set', { on: true, brightness: '{percent}' }),
        isTemplate: true,
        confirm: { property: 'brightness_percent', value: '{percent}' },
      },
    },
    read: status => ({
      on: fieldOf(status, 'output'),
      brightness_percent: fieldOf(status, 'brightness'),
    }),
  }),
  cover: request => ({
    profile: shellyCover,
    commands: {
      open: { ...request('Cover.Open'), confirm: { property: 'cover_state', value: 'open' } },
      close: { ...request('Cover.Close'), confirm: { property: 'cover_state', value: 'closed' } },
      stop: { ...request('Cover.Stop'), confirm: { property: 'moving', value: false } },
      position: {
        ...request('Cover.GoToPosition', { pos: '{percent}' }),
        isTemplate: true,
        confirm: { property: 'position_percent', value: '{percent}', within: 2 },
      },
    },
    read: readCover,
  }),
}

const MOTIONS: Readonly<Record<string, Motion>> = {
  opening: 'opening',
  closing: 'closing',
  calibrating: 'moving',
  open: 'stopped',
  closed: 'stopped',
  stopped: 'stopped',
}

/** Status of a cover. A notice of a change has only what changed; `current_pos` is null uncalibrated. */
const readCover: ReadStatus = status => {
  const state = String(fieldOf(status, 'state'))
  const position = fieldOf(status, 'current_pos')
  const motion = Object.hasOwn(MOTIONS, state) ? MOTIONS[state] : undefined
  return {
    ...describeCover({ motion }),
    position_percent: typeof position === 'number' ? position : undefined,
    cover_state: motion && state,
  }
}

const createReaders = (
  { prefix, name, reply }: Shelly,
  component: ShellyComponent,
  read: ReadStatus,
): Map<string, TopicReader> => {
  const readAll: ReadStatus = status => ({ ...readPower(status), ...read(status) })
  const readParts: ReadStatus = parts => {
    const signal_dbm = fieldOf(fieldOf(parts, 'wifi'), 'rssi')
    const link_quality_percent = toSignalPercent(signal_dbm)
    return { ...readAll(fieldOf(parts, component.name)), link_quality_percent }
  }
  return new Map<string, TopicReader>([
    [
      `${prefix}/online`,
      ({ text }) => {
        const available = toFlag(text, 'true', 'false')
        return available === undefined ? undefined : { available }
      },
    ],
    [`${prefix}/events/rpc`, ({ json }) => ({ values: readParts(fieldOf(json, 'params')) })],
    [`${prefix}/status/${component.name}`, ({ json }) => ({ values: readAll(json) })],
    [
      `${reply}/rpc`,
      ({ json }) =>
        fieldOf(json, 'src') === name ? { values: readParts(fieldOf(json, 'result')) } : undefined,
    ],
  ])
}

const readPower: ReadStatus = status => {
  const energy_wh = fieldOf(fieldOf(status, 'aenergy'), 'total')
  return {
    power_watts: fieldOf(status, 'apower'),
    voltage_volts: fieldOf(status, 'voltage'),
    current_amperes: fieldOf(status, 'current'),
    energy_kwh: typeof energy_wh === 'number' ? energy_wh / 1000 : undefined,
    temperature_celsius: fieldOf(fieldOf(status, 'temperature'), 'tC'),
  }
}
