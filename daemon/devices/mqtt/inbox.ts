import type { MqttMessage } from '../../../devices/mqtt/connection.ts'
import type { MqttEnd } from '../../../shared/wire/mqtt-bridge.ts'

interface InboxLimits {
  max_messages: number
  /** Payload bytes of all messages. */
  max_bytes: number
}

/** Messages of one subscription until a bound is reached; it never holds more than that. */
export class Inbox {
  readonly #limits: InboxLimits
  readonly #waiting: MqttMessage[] = []
  #wake = Promise.withResolvers<void>()
  #messages = 0
  #bytes = 0
  #endedBy: MqttEnd | undefined

  constructor(limits: InboxLimits) {
    this.#limits = limits
  }

  /** Reason for the end; undefined before it. */
  get endedBy(): MqttEnd | undefined {
    return this.#endedBy
  }

  /** Takes a message, unless a bound is reached. */
  add(message: MqttMessage): void {
    if (this.#endedBy !== undefined) return
    const { max_messages, max_bytes } = this.#limits
    const bytes = this.#bytes + message.payload.length
    if (bytes > max_bytes) {
      this.end('bytes')
      return
    }
    this.#bytes = bytes
    this.#waiting.push(message)
    this.#messages++
    if (this.#messages >= max_messages) this.end('messages')
    else this.#wake.resolve()
  }

  /** Ends it; the first reason counts. */
  end(reason: MqttEnd): void {
    this.#endedBy ??= reason
    this.#wake.resolve()
  }

  /** Yields the messages as they come, until the end. */
  async *read(): AsyncGenerator<MqttMessage, void, void> {
    for (;;) {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift())
        yield next
      if (this.#endedBy !== undefined) return
      await this.#wake.promise
      this.#wake = Promise.withResolvers()
    }
  }
}
