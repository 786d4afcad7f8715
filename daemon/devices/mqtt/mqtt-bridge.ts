import { randomUUID } from 'node:crypto'
import type { LinkContext } from '../../../devices/device-link.ts'
import type { MqttLimits } from '../../../devices/mqtt/bounded-socket.ts'
import { MqttConnection, type MqttOptions } from '../../../devices/mqtt/connection.ts'
import type { LinkedBroker } from '../../../devices/mqtt/linked-broker.ts'
import { dial } from '../../../devices/net/dial.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { MQTT_CONNECT_SECONDS, type MqttBrokerRef } from '../../../shared/wire/mqtt-bridge.ts'
import { type BrokerTarget, describeBroker, findBroker } from './find-broker.ts'

/** Connections at a time, each for one caller. */
const MAX_SESSIONS = 8

interface MqttBridgeParts {
  context: LinkContext
  listBrokers: () => readonly LinkedBroker[]
  coordinatorUrl?: string | undefined
}

/** A connection to a broker, for one caller. */
export interface BridgeSession {
  connection: MqttConnection
  /** Rejects with the reason when the connection ends. */
  ended: Promise<never>
}

/** The MQTT brokers that this cell reaches for operators. */
export class MqttBridge {
  readonly #parts: MqttBridgeParts
  #sessions = 0

  constructor(parts: MqttBridgeParts) {
    this.#parts = parts
  }

  listBrokers(): readonly LinkedBroker[] {
    return this.#parts.listBrokers()
  }

  /** @throws ShoalError invalid_request, or forbidden for the broker of the fleet itself */
  find(ref: MqttBrokerRef): BrokerTarget {
    return findBroker(ref, this.listBrokers(), this.#parts.coordinatorUrl)
  }

  /** @throws ShoalError scope_denied for a broker outside the scope, or forbidden for the fleet's own */
  async requireScope({ host, port }: Pick<BrokerTarget, 'host' | 'port'>): Promise<void> {
    await this.#resolveHost(host, port)
  }

  /**
   * Connects, works and disconnects.
   * @throws ShoalError rate_limited, scope_denied, forbidden or broker_unavailable
   */
  async *useSession<T>(
    target: BrokerTarget,
    limits: MqttLimits,
    signal: AbortSignal,
    work: (session: BridgeSession) => AsyncIterable<T>,
  ): AsyncGenerator<T, void, void> {
    if (this.#sessions >= MAX_SESSIONS)
      throw new ShoalError('rate_limited', `this cell has ${MAX_SESSIONS} MQTT sessions, its limit`)
    this.#sessions++
    const end = new AbortController()
    const connection = this.#createConnection(target, limits)
    const connected = waitUntilConnected(connection)
    const ended = toEnd(connection.runOnce(AbortSignal.any([signal, end.signal])), target)
    try {
      await Promise.race([connected, ended, limitTime(target, end.signal)])
      yield* work({ connection, ended })
    } finally {
      end.abort()
      await ended.catch(() => {})
      this.#sessions--
    }
  }

  /** The broker of the fleet has more names than the one that is configured. */
  readonly #resolveHost: LinkContext['resolveHost'] = async (host, port) => {
    const address = await this.#parts.context.resolveHost(host, port).catch(error => {
      const isNameless = error instanceof ShoalError && error.code === 'conflict'
      const isUnknown = isNameless && this.find({ broker: host, port }).linked === undefined
      throw isUnknown ? createUnknownBrokerError(host, error) : error
    })
    this.find({ broker: address, port })
    return address
  }

  #createConnection({ host, port, linked }: BrokerTarget, limits: MqttLimits): MqttConnection {
    const { logger, nowMs } = this.#parts.context
    // a client id of its own: a broker ends the older one of two equal ones (MQTT 3.1.1, 3.1.4-2)
    const own: Pick<MqttOptions, 'clientId' | 'limits'> = {
      clientId: `shoal-${randomUUID().slice(0, 13)}`,
      limits,
    }
    if (linked !== undefined) return linked.createConnection(own)
    return new MqttConnection({
      ...own,
      name: `${host}:${port}`,
      dial: signal => dial({ host, port }, this.#resolveHost, signal),
      readCredentials: async () => ({}),
      logger,
      nowMs,
    })
  }
}

const waitUntilConnected = (connection: MqttConnection): Promise<void> =>
  new Promise(resolve => {
    connection.onStateChange(() => {
      if (connection.reason === undefined) resolve()
    })
  })

/** The end of a session, with an error that says which broker it was. */
const toEnd = (session: Promise<void>, target: BrokerTarget): Promise<never> => {
  const ended = session.then(
    () => {
      throw toSessionError(new Error('the connection ended'), target)
    },
    error => {
      throw toSessionError(error, target)
    },
  )
  // also awaited by those who work with the session
  ended.catch(() => {})
  return ended
}

/** Return codes of CONNACK for wrong credentials (MQTT 3.1.1, section 3.2.2.3). */
const REFUSED_LOGIN: readonly unknown[] = [4, 5]

const toSessionError = (cause: Error, target: BrokerTarget): ShoalError => {
  if (cause instanceof ShoalError) return cause
  const name = describeBroker(target)
  if (REFUSED_LOGIN.includes((cause as { code?: unknown }).code))
    return new ShoalError('forbidden', `${name} refuses ${describeLogin(target)}`, { cause })
  const message = `${name} is not reachable: ${cause.message.slice(0, 200)}`
  return new ShoalError('broker_unavailable', message, { cause })
}

const describeLogin = ({ linked }: BrokerTarget): string =>
  linked === undefined
    ? 'a connection without credentials; configure it as an MQTT link of the cell to give it some'
    : 'the credentials in the configuration of the cell'

const limitTime = (target: BrokerTarget, signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const timer = setTimeout(() => {
      const message = `${describeBroker(target)} did not answer within ${MQTT_CONNECT_SECONDS} s`
      reject(new ShoalError('broker_unavailable', message))
    }, MQTT_CONNECT_SECONDS * 1000)
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true })
  })

const createUnknownBrokerError = (host: string, cause: ShoalError): ShoalError =>
  new ShoalError(
    'invalid_request',
    `no configured broker has the name ${host}, and ${cause.message}; shoal mqtt brokers lists them`,
    { param: 'broker', cause },
  )
