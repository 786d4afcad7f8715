import { wait as waitMs } from '../../../shared/wait.ts'
import type { MqttConnection } from '../../mqtt/connection.ts'
import type { Question } from './found-device.ts'

/** Pause between questions: radios answer them one after another. */
const PAUSE_MS = 100
const MAX_ASKED = 1000
const TIMEOUT_MS = 5000

/** Sends each question once per connection, slowly. */
export class Questions {
  readonly #connection: Pick<MqttConnection, 'publish' | 'reason'>
  /** Questions of this connection, as text. */
  readonly #asked = new Set<string>()
  #waiting: Question[] = []
  #isSending = false

  constructor(connection: Pick<MqttConnection, 'publish' | 'reason'>) {
    this.#connection = connection
  }

  ask(questions: readonly Question[]): void {
    if (this.#connection.reason !== undefined) return
    for (const question of questions) {
      const text = textOf(question)
      if (this.#asked.has(text) || this.#asked.size >= MAX_ASKED) continue
      this.#asked.add(text)
      this.#waiting.push(question)
    }
    if (!this.#isSending) void this.#send()
  }

  /** Sends a question once more that was asked on this connection. */
  repeat(question: Question | undefined): void {
    if (question === undefined) return
    this.#asked.delete(textOf(question))
    this.ask([question])
  }

  /** Forgets what was asked: after a reconnect, the answers of before count no more. */
  forget(): void {
    this.#asked.clear()
    this.#waiting = []
  }

  async #send(): Promise<void> {
    this.#isSending = true
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const signal = AbortSignal.timeout(TIMEOUT_MS)
      // without an answer, the device shows as silent
      await this.#connection.publish(next.topic, next.payload, signal, { qos: 0 }).catch(() => {})
      if (this.#waiting.length > 0) await waitMs(PAUSE_MS, signal)
    }
    this.#isSending = false
  }
}

const textOf = ({ topic, payload }: Question): string => `${topic} ${payload}`
