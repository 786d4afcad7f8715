import type { Logger } from 'pino'
import { Envelope } from '../../shared/wire/envelope.ts'
import type { TopicName } from '../../shared/wire/topics.ts'
import type { ReceivedMessage } from './mqtt-session.ts'

/** Receives a message and the id of the coordinator whose session it came over. */
export type MessageListener = (message: Envelope, replica: string) => void

/** Listeners for the messages of coordinators, by topic. */
export class MessageListeners {
  readonly #listeners = new Map<TopicName, Set<MessageListener>>()
  readonly #logger: Pick<Logger, 'warn'>

  constructor(logger: Pick<Logger, 'warn'>) {
    this.#logger = logger
  }

  add(name: TopicName, listener: MessageListener): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  /** Ignores retained messages: they do not reflect the coordinator's current state. */
  receive({ name, payload, retained }: ReceivedMessage, replica: string): void {
    try {
      if (retained) throw new Error('it was retained')
      const message = Envelope.parse(JSON.parse(payload.toString('utf8')))
      if (message.sender !== 'coordinator') throw new Error(`sender is ${message.sender}`)
      for (const listener of this.#listeners.get(name) ?? []) listener(message, replica)
    } catch (error) {
      const reason = (error as Error).message.slice(0, 300)
      this.#logger.warn({ topic: name, reason }, 'message dropped')
    }
  }
}
