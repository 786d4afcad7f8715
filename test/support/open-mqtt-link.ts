import type { Test } from 'tap'
import type { LinkedDevice } from '../../devices/device-link.ts'
import { MqttLinkConfig } from '../../devices/links/mqtt/config.ts'
import { MqttLink } from '../../devices/links/mqtt/mqtt-link.ts'
import type { Json } from '../../devices/profile.ts'
import { createEnd, createLinkContext } from './link-context.ts'
import { waitUntil } from './wait-until.ts'

/** Opens a link to a broker, with its devices by name. */
export const openLink = (t: Test, url: string, config: object = {}, signal = createEnd(t)) => {
  const parsed = MqttLinkConfig.parse({ kind: 'mqtt', name: 'home', url, ...config })
  const context = createLinkContext(t)
  const link = new MqttLink(parsed, context)
  link.start(signal)
  const find = (name: string): LinkedDevice | undefined =>
    link.list().find(device => device.name === name)
  const require = (name: string): LinkedDevice => {
    const device = find(name)
    if (device === undefined) throw new Error(`${name} is not listed`)
    return device
  }
  const value = (name: string, property: string) =>
    link.readState(require(name).deviceId)?.readings[property]
  const execute = async (
    name: string,
    verb: string,
    params: object = {},
  ): Promise<Json | undefined> => {
    const { deviceId, profile, options } = require(name)
    const target = { device_id: deviceId, options, envelope: {} }
    const { operations = [] } =
      profile.verbs[verb]?.plan(profile.verbs[verb].params.parse(params), target) ?? {}
    const signal = AbortSignal.timeout(5000)
    const context = { signal, report: () => {}, bounds: {} }
    return (await link.execute(deviceId, operations, context)).result
  }
  const waitFor = (name: string) =>
    waitUntil(`${name} is available`, () => find(name)?.available === true)
  return { link, find, require, value, execute, waitFor }
}
