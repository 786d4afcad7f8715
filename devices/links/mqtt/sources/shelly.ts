import { LRUCache } from 'lru-cache'
import shellySwitch from '../../../profiles/shelly-switch.ts'
import type { DeviceNews, FoundDevice, Source, TopicReader } from '../found-device.ts'
import { fieldOf, toFields, toFlag, toSignalPercent } from './fields.ts'

/* Shelly of the second generation and later (API documentation, MQTT): `PREFIX/online`,
   `PREFIX/events/rpc` and `PREFIX/status/COMPONENT`. The prefix is the device's id unless it was
   changed, and a device announces nothing: its first status tells which components it has. */

/** `shellyplus1pm-a8032ab12345`: model and MAC address. */
const DEVICE_NAME = /^shelly[a-z0-9]{1,32}-([0-9a-f]{12})$/
const COMPONENT = /^switch:([0-9]|1[0-5])$/
const MAX_SHELLIES = 256

interface Shelly {
  name: string
  mac: string
  channels: Set<number>
}

export const createShellySource = (): Source => {
  const known = new LRUCache<string, Shelly>({ max: MAX_SHELLIES })

  const note = (prefix: string, name: unknown, components: readonly string[]) => {
    const [text, mac] = DEVICE_NAME.exec(String(name)) ?? []
    const channels = components.flatMap(each => {
      const [, channel] = COMPONENT.exec(each) ?? []
      return channel === undefined ? [] : [Number(channel)]
    })
    if (text === undefined || mac === undefined || channels.length === 0) return undefined
    const shelly = known.get(prefix) ?? { name: text, mac, channels: new Set<number>() }
    for (const channel of channels) shelly.channels.add(channel)
    known.set(prefix, shelly)
    return [...shelly.channels].map(channel => createSwitch(prefix, shelly, channel))
  }

  return {
    filters: ['+/events/rpc', '+/status/+'],
    read: (topic, { json }) => {
      const [prefix = '', kind, component = ''] = topic.split('/')
      if (kind === 'status') return note(prefix, prefix, [component])
      return note(prefix, fieldOf(json, 'src'), Object.keys(toFields(fieldOf(json, 'params'))))
    },
  }
}

const createSwitch = (
  prefix: string,
  { name, mac, channels }: Shelly,
  channel: number,
): FoundDevice => {
  const topic = `${prefix}/rpc`
  const request = (method: string, params: object) => ({
    topic,
    payload: { id: 1, src: 'shoal', method, params: { id: channel, ...params } },
  })
  return {
    identity: `shelly:${mac}:${channel}`,
    name: channels.size === 1 ? name : `${name}:${channel}`,
    profile: shellySwitch,
    commands: {
      on: { ...request('Switch.Set', { on: true }), confirm: { property: 'on', value: true } },
      off: { ...request('Switch.Set', { on: false }), confirm: { property: 'on', value: false } },
      toggle: request('Switch.Toggle', {}),
    },
    topics: createReaders(prefix, channel),
  }
}

const createReaders = (prefix: string, channel: number): Map<string, TopicReader> =>
  new Map<string, TopicReader>([
    [
      `${prefix}/online`,
      ({ text }) => {
        const available = toFlag(text, 'true', 'false')
        return available === undefined ? undefined : { available }
      },
    ],
    [
      `${prefix}/events/rpc`,
      ({ json }) => {
        const params = fieldOf(json, 'params')
        const signal_dbm = fieldOf(fieldOf(params, 'wifi'), 'rssi')
        const { values } = readStatus(fieldOf(params, `switch:${channel}`))
        return { values: { ...values, link_quality_percent: toSignalPercent(signal_dbm) } }
      },
    ],
    [`${prefix}/status/switch:${channel}`, ({ json }) => readStatus(json)],
  ])

const readStatus = (status: unknown): DeviceNews => {
  const energy_wh = fieldOf(fieldOf(status, 'aenergy'), 'total')
  return {
    values: {
      on: fieldOf(status, 'output'),
      power_watts: fieldOf(status, 'apower'),
      voltage_volts: fieldOf(status, 'voltage'),
      current_amperes: fieldOf(status, 'current'),
      energy_kwh: typeof energy_wh === 'number' ? energy_wh / 1000 : undefined,
      temperature_celsius: fieldOf(fieldOf(status, 'temperature'), 'tC'),
    },
  }
}
