import * as z from 'zod'
import { toName } from '../../../declared/values.ts'
import zigbeeLight from '../../../profiles/zigbee-light.ts'
import zigbeeSensor from '../../../profiles/zigbee-sensor.ts'
import zigbeeSwitch from '../../../profiles/zigbee-switch.ts'
import type { FoundDevice, MqttCommand, Payload, Source, TopicReader } from '../found-device.ts'
import { fieldOf, optional, toFlag } from './fields.ts'
import { Expose, type Feature, listReadings } from './zigbee-exposes.ts'

/* Zigbee2MQTT (guide, MQTT topics): `BASE/bridge/devices` lists the devices with what they expose,
   `BASE/NAME` has the state, `BASE/NAME/set` takes changes, `BASE/NAME/availability` is optional. */

const Device = z.object({
  ieee_address: z.string().regex(/^0x[0-9a-f]{16}$/),
  type: z.string().max(32),
  friendly_name: z.string().min(1).max(128),
  disabled: z.boolean().catch(false),
  definition: z.object({ exposes: z.array(z.unknown()).max(256) }),
})
type Device = z.infer<typeof Device>

const MAX_LISTED = 1000
const CAN_BE_SET = 2

export const createZigbeeSource = (base: string): Source => ({
  filters: [`${base}/bridge/devices`],
  read: (_topic, { json }) => {
    if (!Array.isArray(json)) return undefined
    return json.slice(0, MAX_LISTED).flatMap(listed => {
      const { data } = Device.safeParse(listed)
      return data === undefined || data.disabled || data.type === 'Coordinator'
        ? []
        : createDevices(base, data)
    })
  },
})

/** Devices of one radio: each of its lights and switches, or else its sensors. */
const createDevices = (base: string, device: Device): FoundDevice[] => {
  const exposes = device.definition.exposes.flatMap(each => Expose.safeParse(each).data ?? [])
  const actors = exposes.flatMap(expose => createActor(base, device, expose, exposes) ?? [])
  if (actors.length > 0) return actors
  const readings = listReadings(exposes)
  if (readings.every(({ property }) => property === 'link_quality_percent')) return []
  return [{ ...describe(base, device, '', readings), profile: zigbeeSensor, commands: {} }]
}

const createActor = (
  base: string,
  device: Device,
  { type, features = [] }: Expose,
  exposes: readonly Expose[],
): FoundDevice | undefined => {
  if (type !== 'light' && type !== 'switch') return undefined
  const state = features.find(({ name, access = 0 }) => name === 'state' && access & CAN_BE_SET)
  const { property } = state ?? {}
  if (state === undefined || property === undefined) return undefined
  const { value_on = 'ON', value_off = 'OFF' } = state
  const brightness = features.find(({ name }) => name === 'brightness')
  const full = brightness?.value_max ?? 254
  const readings = [
    {
      field: property,
      property: 'on',
      convert: (value: unknown) => toFlag(value, value_on, value_off),
    },
    ...(brightness?.property === undefined
      ? []
      : [{ field: brightness.property, property: 'brightness_percent', convert: toPercent(full) }]),
    ...listReadings(exposes),
  ]
  const part = property === 'state' ? '' : property
  return {
    ...describe(base, device, part, readings),
    profile: type === 'light' ? zigbeeLight : zigbeeSwitch,
    commands: createCommands(`${base}/${device.friendly_name}/set`, state, brightness),
  }
}

const toPercent =
  (full: number) =>
  (value: unknown): number | undefined =>
    typeof value === 'number' ? Math.round((value / full) * 100) : undefined

const createCommands = (
  topic: string,
  { property = 'state', value_on = 'ON', value_off = 'OFF', value_toggle }: Feature,
  brightness: Feature | undefined,
): Record<string, MqttCommand> => ({
  on: { topic, payload: { [property]: value_on }, confirm: { property: 'on', value: true } },
  off: { topic, payload: { [property]: value_off }, confirm: { property: 'on', value: false } },
  ...(value_toggle !== undefined && { toggle: { topic, payload: { [property]: value_toggle } } }),
  ...(brightness?.property !== undefined && {
    brightness: {
      topic,
      payload: { [property]: value_on, [brightness.property]: '{brightness}' },
      confirm: { property: 'on', value: true },
      full: brightness.value_max ?? 254,
    },
  }),
})

type Readings = ReturnType<typeof listReadings>

const describe = (
  base: string,
  { ieee_address, friendly_name }: Device,
  part: string,
  readings: Readings,
): Pick<FoundDevice, 'identity' | 'name' | 'topics'> => {
  const topic = `${base}/${friendly_name}`
  return {
    identity: part === '' ? `zigbee:${ieee_address}` : `zigbee:${ieee_address}:${part}`,
    name: toName(part === '' ? friendly_name : `${friendly_name} ${part}`, ieee_address),
    topics: new Map<string, TopicReader>([
      [topic, ({ json }) => readState(json, readings)],
      [`${topic}/availability`, readAvailability],
      [
        `${base}/bridge/state`,
        payload => {
          const news = readAvailability(payload)
          return news && { ...news, isFromBridge: true }
        },
      ],
    ]),
  }
}

const readState = (json: unknown, readings: Readings) => ({
  values: Object.fromEntries(
    readings.map(({ field, property, convert }) => [property, convert(fieldOf(json, field))]),
  ),
})

const State = z.object({ state: optional(z.string()) })

/** `{"state":"online"}`, or the plain word of older versions. */
const readAvailability = ({ text, json }: Payload): { available: boolean } | undefined => {
  const word = State.safeParse(json).data?.state ?? text
  const available = toFlag(word, 'online', 'offline')
  return available === undefined ? undefined : { available }
}
