import { BIRTH_KEYS, withholdKeys } from '../../shared/wire/capability.ts'
import { type Envelope, envelope, type StateBody } from '../../shared/wire/envelope.ts'
import type { Sample } from '../../shared/wire/telemetry.ts'
import type { TopicName } from '../../shared/wire/topics.ts'
import type { Identity } from '../identity.ts'
import type { KeptMessage } from './backlog.ts'
import type { MqttSession } from './mqtt-session.ts'
import type { Batch } from './spool.ts'

interface ControlSessionOptions {
  /** Id of the coordinator on the other side. */
  replica: string
  /** Capability level of that coordinator. */
  capability: number
  mqtt: Pick<MqttSession, 'publish' | 'offer' | 'end'>
  identity: Pick<Identity, 'cell_id' | 'epoch'>
  /** Receives every message just before it is sent. */
  onSend?: ((message: Envelope, replica: string) => void) | undefined
}

const DRAINING: StateBody = { state: 'draining' }
const STOPPED: StateBody = { state: 'stopped' }

/** The control plane to one coordinator: this cell's messages over one MQTT connection. */
export class ControlSession {
  readonly replica: string
  readonly #options: ControlSessionOptions

  constructor(options: ControlSessionOptions) {
    this.replica = options.replica
    this.#options = options
  }

  /**
   * Resolves when the coordinator has the message; rejects when the connection ends or the signal
   * aborts first.
   */
  async publish(name: TopicName, body: unknown, id?: string, signal?: AbortSignal): Promise<void> {
    const message = this.#envelope(name, body)
    this.#options.onSend?.(message, this.replica)
    await this.#options.mqtt.publish(name, message, id, signal)
  }

  /** Sends the newest sample; older ones that still wait are dropped. */
  offer(sample: Sample): void {
    this.#options.mqtt.offer(this.#envelope('telemetry', sample))
  }

  async sendKept(messages: readonly KeptMessage[]): Promise<void> {
    const { mqtt } = this.#options
    await Promise.all(
      messages.map(({ name, id, body }) => mqtt.publish(name, this.#envelope(name, body), id)),
    )
  }

  /** Sends samples of an outage; a batch that is sent again keeps its id. */
  async sendHistory({ id, texts }: Batch): Promise<void> {
    const samples = texts.map(text => JSON.parse(text))
    await this.#options.mqtt.publish('history', { ...this.#envelope('history', { samples }), id })
  }

  /** Announces that the cell stops accepting requests. */
  sayDraining(): void {
    this.#sayState(DRAINING)
  }

  /** Ends the session after its pending messages; the last one announces a clean stop. */
  leave(): void {
    this.#sayState(STOPPED)
    this.#options.mqtt.end()
  }

  #sayState(state: StateBody): void {
    this.#options.mqtt.publish('state', this.#envelope('state', state)).catch(() => {})
  }

  #envelope(name: TopicName, body: unknown): Envelope {
    const { identity, capability } = this.#options
    const known = name === 'birth' ? withholdKeys(body as object, BIRTH_KEYS, capability) : body
    return envelope(identity.cell_id, identity.epoch, name, known)
  }
}
