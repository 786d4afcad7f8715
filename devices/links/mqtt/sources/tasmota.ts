import { toName } from '../../../declared/values.ts'
import tasmotaSwitch from '../../../profiles/tasmota-switch.ts'
import type { DeviceNews, FoundDevice, Payload, Source, TopicReader } from '../found-device.ts'
import { fieldOf, toFields, toFlag, toSignalPercent } from './fields.ts'
import { createPresenceReader, TasmotaConfig, topicOf } from './tasmota-config.ts'
import { createShutters } from './tasmota-shutter.ts'

/* Relays of Tasmota. Each is a switch of its own. */

const SWITCHED: readonly number[] = [1, 2]

export const createTasmotaSource = (prefix: string): Source => ({
  filters: [`${prefix}/+/config`],
  read: (_topic, { text, json }) => {
    if (text === '') return []
    const { data } = TasmotaConfig.safeParse(json)
    if (data === undefined) return undefined
    const relays = data.rl.flatMap((kind, index) => (SWITCHED.includes(kind) ? [index] : []))
    return [...relays.map(index => createSwitch(data, index)), ...createShutters(data)]
  },
})

/** One relay of a device; each is a switch of its own. */
const createSwitch = (config: TasmotaConfig, index: number): FoundDevice => {
  const { mac, state, dn, fn, rl } = config
  const [off, on] = state
  // without its number, the command would reach relay 1, which may drive the motor of a shutter
  const power = `POWER${index + 1}`
  const topic = topicOf(config, 'command', power)
  const named = dn !== undefined && rl.filter(kind => kind !== 0).length > 1
  return {
    identity: `tasmota:${mac.toUpperCase()}:${index + 1}`,
    name: toName(
      fn?.[index] ?? (named ? `${dn} ${index + 1}` : dn),
      `Tasmota ${mac.toUpperCase()}:${index + 1}`,
    ),
    profile: tasmotaSwitch,
    commands: {
      on: { topic, payload: on ?? 'ON', confirm: { property: 'on', value: true } },
      off: { topic, payload: off ?? 'OFF', confirm: { property: 'on', value: false } },
      toggle: { topic, payload: state[2] ?? 'TOGGLE' },
    },
    topics: createReaders(config, index),
    question: { topic: topicOf(config, 'command', 'STATE'), payload: '' },
  }
}

const createReaders = (config: TasmotaConfig, index: number): Map<string, TopicReader> => {
  const { state } = config
  // a device with one relay reports it as POWER
  const fields = [`POWER${index + 1}`, ...(index === 0 ? ['POWER'] : [])]
  const toOn = (json: unknown) =>
    fields
      .map(field => toFlag(fieldOf(json, field), state[1], state[0]))
      .find(on => on !== undefined)
  const readPower = ({ text, json }: Payload): DeviceNews | undefined => {
    const on = toOn(json) ?? toFlag(text, state[1], state[0])
    return on === undefined ? undefined : { values: { on } }
  }
  const readState: TopicReader = ({ json }) => {
    const link_quality_percent = toSignalPercent(fieldOf(fieldOf(json, 'Wifi'), 'Signal'))
    return { values: { link_quality_percent, on: toOn(json) } }
  }
  return new Map<string, TopicReader>([
    ...fields.map(field => [topicOf(config, 'result', field), readPower] as const),
    [topicOf(config, 'result', 'RESULT'), readPower],
    [topicOf(config, 'telemetry', 'STATE'), readState],
    createPresenceReader(config),
    ...(index === 0 ? [[topicOf(config, 'telemetry', 'SENSOR'), readSensors] as const] : []),
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
