import type { Socket } from 'node:net'
import type { MqttClient } from 'mqtt'
import { backOffMs } from '../../shared/back-off.ts'
import { ShoalError } from '../../shared/errors.ts'
import { type Wait, wait as waitMs } from '../../shared/wait.ts'
import type { LinkContext } from '../device-link.ts'
import { BoundedSocket, type MqttLimits } from './bounded-socket.ts'
import { createClient, waitForClose } from './session-client.ts'

const PAUSE = { firstMs: 1000, maxMs: 30_000 }

export interface MqttMessage {
  topic: string
  payload: Buffer
  /** True when the broker had kept the message: nobody knows how old it is. */
  isRetained: boolean
}

interface PublishOptions {
  /** 1 by default. */
  qos?: 0 | 1
  /** False by default. */
  retain?: boolean
}

export interface MqttOptions extends Pick<LinkContext, 'logger' | 'nowMs'> {
  /** Name of the broker or device, for the log. */
  name: string
  clientId: string
  limits: MqttLimits
  /** Opens a socket to a verified peer. */
  dial: (signal: AbortSignal) => Promise<Socket>
  readCredentials: () => Promise<{ username?: string; password?: string }>
  /** Pauses between attempts. */
  wait?: Wait
}

/**
 * Connection to an MQTT 3.1.1 broker that is made again whenever it ends. Each session is clean, and
 * a message is sent in the session in which it was published or not at all: nothing old reaches a
 * device after a reconnect.
 */
export class MqttConnection {
  readonly #options: MqttOptions
  readonly #filters = new Set<string>()
  readonly #messageListeners = new Set<(message: MqttMessage) => void>()
  readonly #stateListeners = new Set<() => void>()
  #client: MqttClient | undefined
  #reason = 'not connected yet'
  #dropped = 0

  constructor(options: MqttOptions) {
    this.#options = options
  }

  /** Reason why there is no connection; undefined while there is one. */
  get reason(): string | undefined {
    return this.#client === undefined ? this.#reason : undefined
  }

  /** Messages that were dropped because they were too large or too many. */
  get dropped(): number {
    return this.#dropped
  }

  /** Begins to connect; the signal ends everything. */
  start(signal: AbortSignal): void {
    void this.#keepConnected(signal)
  }

  /** Runs one session until it ends or the signal aborts; throws the reason of its end. */
  async runOnce(signal: AbortSignal): Promise<void> {
    try {
      await this.#runSession(signal, () => {})
    } finally {
      this.#setClient(undefined)
    }
  }

  /** Subscribes with QoS 0, now and after every reconnect. */
  subscribe(filters: readonly string[]): void {
    this.exchangeFilters({ added: filters, removed: [] })
  }

  /**
   * Subscribes to the added filters, and leaves the removed ones once the broker has answered: a
   * message that both cover is not missed between.
   */
  exchangeFilters({
    added,
    removed,
  }: Readonly<Record<'added' | 'removed', readonly string[]>>): void {
    const client = this.#client
    const left = removed.filter(filter => this.#filters.delete(filter))
    const wanted = added.filter(filter => !this.#filters.has(filter))
    for (const filter of wanted) this.#filters.add(filter)
    if (client === undefined) return
    const leave = (): void => {
      const unused = left.filter(filter => !this.#filters.has(filter))
      if (unused.length > 0 && client === this.#client) client.unsubscribe(unused, ignore)
    }
    if (wanted.length === 0) leave()
    else this.#subscribeNow(client, wanted, leave)
  }

  onMessage(listener: (message: MqttMessage) => void): () => void {
    this.#messageListeners.add(listener)
    return () => this.#messageListeners.delete(listener)
  }

  /** Calls back after each connect and each loss of the connection. */
  onStateChange(listener: () => void): () => void {
    this.#stateListeners.add(listener)
    return () => this.#stateListeners.delete(listener)
  }

  /**
   * Subscribes with QoS 0 for this session, and resolves when the broker has granted it.
   * @throws ShoalError broker_unavailable without a session; forbidden when the broker refuses it
   */
  async requestSubscription(filter: string): Promise<void> {
    const { name } = this.#options
    if (this.#client === undefined) throw this.#createAwayError(this.#reason)
    await this.#client.subscribeAsync(filter, { qos: 0 }).catch(cause => {
      throw new ShoalError('forbidden', `${name} refuses the subscription to ${filter}`, { cause })
    })
  }

  /**
   * Publishes a message; resolves when the broker has it, or with QoS 0 when it is on its way.
   * @throws ShoalError broker_unavailable, also when the connection ends first
   */
  publish(
    topic: string,
    payload: string,
    signal?: AbortSignal,
    { qos = 1, retain = false }: PublishOptions = {},
  ): Promise<void> {
    const client = this.#client
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    if (client === undefined) reject(this.#createAwayError(this.#reason))
    else {
      const onClose = (): void => reject(this.#createAwayError('the connection ended'))
      const onAbort = (): void => reject(signal?.reason)
      client.once('close', onClose)
      signal?.addEventListener('abort', onAbort, { once: true })
      client.publish(topic, payload, { qos, retain }, error => {
        if (error) reject(this.#createAwayError(error.message))
        // writes are done in order: after this one the message is with the system
        else if (qos === 0) client.stream.write('', () => resolve())
        else resolve()
      })
      const release = (): void => {
        client.off('close', onClose)
        signal?.removeEventListener('abort', onAbort)
      }
      promise.then(release, release)
    }
    return promise
  }

  async #keepConnected(signal: AbortSignal): Promise<void> {
    const { logger, name, wait = waitMs } = this.#options
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        await this.#runSession(signal, () => {
          attempt = 0
        })
      } catch (error) {
        const { message } = error as Error
        if (attempt === 0 && !signal.aborted)
          logger.warn({ broker: name, reason: message }, 'the connection to an MQTT broker ended')
        this.#reason = message.slice(0, 200)
      }
      this.#setClient(undefined)
      if (!signal.aborted) await wait(backOffMs(PAUSE, attempt), signal)
    }
  }

  /** Runs one session to its end, and throws the reason of it. */
  async #runSession(signal: AbortSignal, onConnected: () => void): Promise<void> {
    const credentials = await this.#options.readCredentials()
    const stream = this.#limitSocket(await this.#options.dial(signal))
    const client = createClient(stream, this.#options.clientId, credentials)
    // one listener for each message that is being published
    client.setMaxListeners(0)
    client.on('message', (topic, payload, { retain }) =>
      this.#deliver({ topic, payload, isRetained: retain }),
    )
    const closed = waitForClose(client)
    const abort = (): void => void stream.destroy()
    signal.addEventListener('abort', abort)
    try {
      await Promise.race([new Promise(resolve => client.once('connect', resolve)), closed])
      onConnected()
      this.#setClient(client)
      await closed
    } finally {
      signal.removeEventListener('abort', abort)
      stream.destroy()
      await client.endAsync(true)
    }
  }

  #limitSocket(socket: Socket): BoundedSocket {
    const { limits, nowMs, logger, name } = this.#options
    const onDrop = (): void => {
      if (this.#dropped++ === 0)
        logger.warn({ broker: name, ...limits }, 'a message of an MQTT broker exceeds the limits')
    }
    return new BoundedSocket(socket, { ...limits, nowMs, onDrop })
  }

  #setClient(client: MqttClient | undefined): void {
    if (this.#client === client) return
    this.#client = client
    if (client !== undefined) this.#subscribeNow(client, [...this.#filters], () => {})
    for (const listener of [...this.#stateListeners]) listener()
  }

  #subscribeNow(client: MqttClient, filters: readonly string[], onAnswer: () => void): void {
    if (filters.length === 0) return
    const { logger, name } = this.#options
    client.subscribe([...filters], { qos: 0 }, error => {
      if (error && client === this.#client)
        logger.warn({ broker: name, err: error }, 'an MQTT broker refuses a subscription')
      onAnswer()
    })
  }

  #deliver(message: MqttMessage): void {
    for (const listener of [...this.#messageListeners]) listener(message)
  }

  #createAwayError(reason: string): ShoalError {
    return new ShoalError('broker_unavailable', `${this.#options.name} is not reachable: ${reason}`)
  }
}

const ignore = (): void => {}
