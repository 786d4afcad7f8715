import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { FoundDevice, Question, Source } from '../found-device.ts'
import { fieldOf, toFields } from './fields.ts'
import { createShellyDevice, type Shelly, type ShellyComponent } from './shelly-device.ts'

/* Shelly of the second generation and later (API documentation, MQTT): `PREFIX/online`,
   `PREFIX/events/rpc` and `PREFIX/status/COMPONENT`. The prefix is the device's id unless it was
   changed, and may have several levels. A device announces nothing: its status tells which components
   it has, and a quiet device is asked for it. */

/** `shellyplus1pm-a8032ab12345`: model and MAC address. */
const DEVICE_NAME = /^shelly[a-z0-9]{1,32}-([0-9a-f]{12})$/
const COMPONENT = /^(switch|cover|light):([0-9]|1[0-5])$/
const TOPIC = /^(.+)\/(?:(online)|(events)\/rpc|status\/([^/]+))$/
const MAX_SHELLIES = 256
/** Most levels of a prefix; a filter has no wildcard for several levels before its end. */
const MAX_LEVELS = 4

/** @param scope text that no other link has: answers are sent to a topic that is made from it */
export const createShellySource = (scope: string): Source => {
  const known = new LRUCache<string, Shelly>({ max: MAX_SHELLIES })
  /** Prefix of each device that was asked, by the number of the request. */
  const asked = new LRUCache<number, string>({ max: MAX_SHELLIES })
  const reply = `shoal-${createHash('sha256').update(scope).digest('hex').slice(0, 12)}`
  let requests = 0

  const note = (prefix: string, name: unknown, status: object, isWhole = false) => {
    const [text, mac] = DEVICE_NAME.exec(String(name)) ?? []
    const components = Object.keys(status).filter(each => COMPONENT.test(each))
    if (text === undefined || mac === undefined || components.length === 0) return undefined
    const before = isWhole ? undefined : known.get(prefix)
    const all = new Set([...(before?.components ?? []), ...components])
    const shelly = { prefix, name: text, mac, reply, components: [...all].sort() }
    known.set(prefix, shelly)
    return shelly.components.map(component => createDevice(shelly, component))
  }

  const readAnswer = (json: unknown): FoundDevice[] | undefined => {
    const prefix = asked.get(Number(fieldOf(json, 'id')))
    const status = toFields(fieldOf(json, 'result'))
    return prefix === undefined ? undefined : note(prefix, fieldOf(json, 'src'), status, true)
  }

  const createQuestion = (prefix: string): Question => {
    const id = ++requests
    asked.set(id, prefix)
    const payload = JSON.stringify({ id, src: reply, method: 'Shelly.GetStatus' })
    return { topic: `${prefix}/rpc`, payload }
  }

  const isAsked = (prefix: string): boolean => [...asked.values()].includes(prefix)

  return {
    filters: [`${reply}/rpc`, ...['online', 'events/rpc', 'status/+'].flatMap(listFilters)],
    read: (topic, { json }) => {
      if (topic === `${reply}/rpc`) return readAnswer(json)
      const [, prefix = '', , events, component] = TOPIC.exec(topic) ?? []
      if (events === undefined) {
        const name = nameOf(prefix) ?? known.get(prefix)?.name
        return component === undefined ? undefined : note(prefix, name, { [component]: json })
      }
      const isWhole = fieldOf(json, 'method') === 'NotifyFullStatus'
      return note(prefix, fieldOf(json, 'src'), toFields(fieldOf(json, 'params')), isWhole)
    },
    ask: (topic, { text, json }) => {
      const [, prefix = '', online, , component = ''] = TOPIC.exec(topic) ?? []
      if (prefix === '' || known.has(prefix) || isAsked(prefix)) return undefined
      const isNamed = online !== undefined && text === 'true' && nameOf(prefix) !== undefined
      return isNamed || isStatus(component, json) ? createQuestion(prefix) : undefined
    },
  }
}

const listFilters = (end: string): string[] =>
  Array.from({ length: MAX_LEVELS }, (_, level) => `${'+/'.repeat(level + 1)}${end}`)

/** Name of the device that a prefix contains as one of its levels. */
const nameOf = (prefix: string): string | undefined =>
  prefix.split('/').find(level => DEVICE_NAME.test(level))

const createDevice = (shelly: Shelly, name: string): FoundDevice => {
  const [, kind, channel] = COMPONENT.exec(name) ?? []
  return createShellyDevice(shelly, { kind, channel: Number(channel), name } as ShellyComponent)
}

/** True for the status of a component: it has the number of its topic. */
const isStatus = (component: string, json: unknown): boolean => {
  const [, , channel] = COMPONENT.exec(component) ?? []
  return channel !== undefined && fieldOf(json, 'id') === Number(channel)
}
