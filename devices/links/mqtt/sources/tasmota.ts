import * as z from 'zod'
import { toName } from '../../../declared/values.ts'
import tasmotaSwitch from '../../../profiles/tasmota-switch.ts'
import type { DeviceNews, FoundDevice, Payload, Source, TopicReader } from '../found-device.ts'
import { fieldOf, optional, Text, toFields, toFlag, toSignalPercent } from './fields.ts'

/* Native discovery of Tasmota 9.3 and later: `tasmota/discovery/MAC/config` (docs, MQTT and Device
   configuration). */

const Config = z.object({
  mac: z.string().regex(/^[0-9A-Fa-f]{12}$/),
  /** Topic of the device, and the template of its full topics. */
  t: z.string().min(1).max(128),
  ft: z.string().min(1).max(128),
  /** Prefixes of commands, results and telemetry. */
  tp: z.tuple([z.string().max(64), z.string().max(64), z.string().max(64)]),
  /** Kind of each relay: 0 none, 1 relay, 2 light, 3 shutter. */
  rl: z.array(z.number()).max(32),
  dn: Text,
  hn: Text,
  fn: optional(z.array(z.string().nullable()).max(32)),
  /** Words for off and on. */
  state: z.array(z.string().max(32)).min(2).max(8).catch(['OFF', 'ON']),
  onln: z.string().max(64).catch('Online'),
  ofln: z.string().max(64).catch('Offline'),
})
type Config = z.infer<typeof Config>

const SWITCHED: readonly number[] = [1, 2]

export const createTasmotaSource = (prefix: string): Source => ({
  filters: [`${prefix}/+/config`],
  read: (_topic, { text, json }) => {
    if (text === '') return []
    const { data } = Config.safeParse(json)
    return data?.rl.flatMap((kind, index) =>
      SWITCHED.includes(kind) ? [createSwitch(data, index)] : [],
    )
  },
})

/** One relay of a device; each is a switch of its own. */
const createSwitch = (config: Config, index: number): FoundDevice => {
  const { mac, state, dn, fn } = config
  const [off, on] = state
  const relays = config.rl.filter(kind => SWITCHED.includes(kind)).length
  const power = relays === 1 ? 'POWER' : `POWER${index + 1}`
  const topic = topicOf(config, 0, power)
  return {
    identity: `tasmota:${mac.toUpperCase()}:${index + 1}`,
    name: toName(fn?.[index] ?? dn, `Tasmota ${mac.toUpperCase()}:${index + 1}`),
    profile: tasmotaSwitch,
    commands: {
      on: { topic, payload: on ?? 'ON', confirm: { property: 'on', value: true } },
      off: { topic, payload: off ?? 'OFF', confirm: { property: 'on', value: false } },
      toggle: { topic, payload: state[2] ?? 'TOGGLE' },
    },
    topics: createReaders(config, power, index === 0),
  }
}

const topicOf = ({ ft, t, tp, hn = '', mac }: Config, prefix: 0 | 1 | 2, name: string): string => {
  const full = ft
    .replaceAll('%prefix%', tp[prefix])
    .replaceAll('%topic%', t)
    .replaceAll('%hostname%', hn)
    .replaceAll('%id%', mac.slice(-6).toUpperCase())
  return `${full}${full.endsWith('/') ? '' : '/'}${name}`
}

const createReaders = (
  config: Config,
  power: string,
  hasSensors: boolean,
): Map<string, TopicReader> => {
  const { state, onln, ofln } = config
  const readPower = (value: unknown): DeviceNews | undefined => {
    const on = toFlag(value, state[1], state[0])
    return on === undefined ? undefined : { values: { on } }
  }
  const readResult = ({ json }: Payload) => readPower(fieldOf(json, power))
  return new Map<string, TopicReader>([
    [topicOf(config, 1, 'RESULT'), readResult],
    [topicOf(config, 1, power), ({ text }) => readPower(text)],
    [
      topicOf(config, 2, 'STATE'),
      ({ json }) => {
        const link_quality_percent = toSignalPercent(fieldOf(fieldOf(json, 'Wifi'), 'Signal'))
        const on = toFlag(fieldOf(json, power), state[1], state[0])
        return { values: { link_quality_percent, on } }
      },
    ],
    [
      topicOf(config, 2, 'LWT'),
      ({ text }) => {
        const available = toFlag(text, onln, ofln)
        return available === undefined ? undefined : { available }
      },
    ],
    ...(hasSensors
      ? [[topicOf(config, 2, 'SENSOR'), readSensors] satisfies [string, TopicReader]]
      : []),
  ])
}

const readSensors: TopicReader = ({ json }) => {
  const energy = fieldOf(json, 'ENERGY')
  const parts = Object.values(toFields(json)).slice(0, 32)
  const climate = parts.find(part => typeof fieldOf(part, 'Temperature') === 'number')
  return {
    values: {
      power_watts: fieldOf(energy, 'Power'),
      energy_kwh: fieldOf(energy, 'Total'),
      voltage_volts: fieldOf(energy, 'Voltage'),
      current_amperes: fieldOf(energy, 'Current'),
      temperature_celsius: fieldOf(climate, 'Temperature'),
    },
  }
}
