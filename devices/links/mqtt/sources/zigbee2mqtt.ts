import * as z from 'zod'
import { toName } from '../../../declared/values.ts'
import zigbeeSensor from '../../../profiles/zigbee-sensor.ts'
import type { FoundDevice, Payload, Source, TopicReader } from '../found-device.ts'
import { fieldOf, optional, toFlag } from './fields.ts'
import { createActor } from './zigbee-actors.ts'
import { Expose, listReadings } from './zigbee-exposes.ts'

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

/** Devices of one radio: each part that takes commands, or else its sensors. */
const createDevices = (base: string, device: Device): FoundDevice[] => {
  const exposes = device.definition.exposes.flatMap(each => Expose.safeParse(each).data ?? [])
  const topic = `${base}/${device.friendly_name}`
  const readings = listReadings(exposes)
  const actors = exposes.flatMap(each => createActor(each, exposes, `${topic}/set`) ?? [])
  if (actors.length > 0)
    return actors.map(({ property, canBeRead, read, ...actor }) => ({
      ...describe(base, device, property === 'state' ? '' : property, readings, read),
      ...actor,
      question: canBeRead
        ? { topic: `${topic}/get`, payload: JSON.stringify({ [property]: '' }) }
        : undefined,
    }))
  if (readings.every(({ property }) => property === 'link_quality_percent')) return []
  return [{ ...describe(base, device, '', readings), profile: zigbeeSensor, commands: {} }]
}

type Readings = ReturnType<typeof listReadings>

const describe = (
  base: string,
  { ieee_address, friendly_name }: Device,
  part: string,
  readings: Readings,
  read: (state: unknown) => Readonly<Record<string, unknown>> = () => ({}),
): Pick<FoundDevice, 'identity' | 'name' | 'topics'> => {
  const topic = `${base}/${friendly_name}`
  return {
    identity: part === '' ? `zigbee:${ieee_address}` : `zigbee:${ieee_address}:${part}`,
    name: toName(part === '' ? friendly_name : `${friendly_name} ${part}`, ieee_address),
    topics: new Map<string, TopicReader>([
      [topic, ({ json }) => ({ values: { ...readState(json, readings), ...read(json) } })],
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

const readState = (json: unknown, readings: Readings) =>
  Object.fromEntries(
    readings.map(({ field, property, convert }) => [property, convert(fieldOf(json, field))]),
  )

const State = z.object({ state: optional(z.string()) })

/** `{"state":"online"}`, or the plain word of older versions. */
const readAvailability = ({ text, json }: Payload): { available: boolean } | undefined => {
  const word = State.safeParse(json).data?.state ?? text
  const available = toFlag(word, 'online', 'offline')
  return available === undefined ? undefined : { available }
}
