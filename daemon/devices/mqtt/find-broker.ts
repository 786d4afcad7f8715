import { isIPv4, isIPv6 } from 'node:net'
import type { LinkedBroker } from '../../../devices/mqtt/linked-broker.ts'
import { ShoalError } from '../../../shared/errors.ts'
import type { MqttBrokerRef } from '../../../shared/wire/mqtt-bridge.ts'
import { COORDINATOR_MQTT_PORT } from '../../../shared/wire/mqtt-port.ts'

/** A broker that a caller has named. */
export interface BrokerTarget {
  host: string
  port: number
  /** The configured broker, with its credentials; undefined for another address, which gets none. */
  linked: LinkedBroker | undefined
}

/**
 * Finds a broker by the name of a configured one, or by its address. A port in the text counts more
 * than the one beside it.
 * @throws ShoalError invalid_request, or forbidden for the broker of the fleet itself
 */
export const findBroker = (
  { broker, port }: MqttBrokerRef,
  brokers: readonly LinkedBroker[],
  coordinatorUrl: string | undefined,
): BrokerTarget => {
  const named = brokers.find(({ name }) => name === broker)
  const address = named ?? parseAddress(broker, port)
  if (isOfFleet(address, coordinatorUrl))
    throw new ShoalError(
      'forbidden',
      `${address.host}:${address.port} is the broker of the fleet itself; its messages must not loop`,
      { param: 'broker' },
    )
  const linked = named ?? brokers.find(each => isSame(each, address))
  return { host: address.host, port: address.port, linked }
}

/** Name of a broker for messages and plans. */
export const describeBroker = ({ host, port, linked }: BrokerTarget): string =>
  linked?.name ?? joinAddress(host, port)

interface Address {
  host: string
  port: number
}

const HOST = /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/

const parseAddress = (text: string, preset: number): Address => {
  const lower = text.toLowerCase()
  if (isIPv6(lower)) return { host: lower, port: preset }
  const [, host = '', port] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(lower) ?? []
  const bare = host.startsWith('[') ? host.slice(1, -1) : host
  const given = port === undefined ? preset : Number(port)
  const isHost = host.startsWith('[') ? isIPv6(bare) : HOST.test(bare)
  if (isHost && given >= 1 && given <= 65_535) return { host: bare, port: given }
  throw new ShoalError(
    'invalid_request',
    'broker must be the name of a configured broker, a host or host:port',
    { param: 'broker' },
  )
}

const joinAddress = (host: string, port: number): string =>
  `${isIPv6(host) ? `[${host}]` : host}:${port}`

/** True for the port of the coordinator, and for the plain MQTT beside it. */
const isOfFleet = (address: Address, coordinatorUrl: string | undefined): boolean => {
  if (coordinatorUrl === undefined) return false
  const { hostname, port, protocol } = new URL(coordinatorUrl)
  const own = Number(port) || (protocol === 'https:' ? 443 : 80)
  const host = hostname.replace(/^\[|\]$/g, '')
  return [own, COORDINATOR_MQTT_PORT].some(each => isSame(address, { host, port: each }))
}

/** All loopback addresses of this machine count as one host. */
const isSame = (one: Address, other: Address): boolean =>
  one.port === other.port && canonicalHost(one.host) === canonicalHost(other.host)

const canonicalHost = (host: string): string => {
  const lower = host.toLowerCase()
  const isLoopback = lower === '::1' || (isIPv4(lower) && lower.startsWith('127.'))
  return isLoopback ? 'localhost' : lower
}
