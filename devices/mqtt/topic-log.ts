import { LRUCache } from 'lru-cache'
import type { MqttMessage } from './connection.ts'

/** Counts the messages of a topic, and keeps the newest one. */
interface LoggedTopic {
  topic: string
  messages: number
  /** Time of the newest message, by the monotonic clock. */
  atMs: number
  /** Size of the newest payload. */
  bytes: number
  /** True when the newest message was a retained one. */
  isRetained: boolean
}

/** Topics per broker, of at most 512 bytes each. */
const MAX_TOPICS = 2000
const MAX_TOPIC_BYTES = 512

/** The topics on which a connection has received messages; the oldest ones are forgotten. */
export class TopicLog {
  readonly #topics: LRUCache<string, LoggedTopic>
  readonly #nowMs: () => number
  #forgotten = 0

  constructor(nowMs: () => number, max = MAX_TOPICS) {
    this.#nowMs = nowMs
    this.#topics = new LRUCache({
      max,
      dispose: (_value, _topic, reason) => {
        if (reason === 'evict') this.#forgotten++
      },
    })
  }

  /** Topics that were forgotten, or were too long to be kept. */
  get forgotten(): number {
    return this.#forgotten
  }

  add({ topic, payload, isRetained }: MqttMessage): void {
    if (Buffer.byteLength(topic) > MAX_TOPIC_BYTES) {
      this.#forgotten++
      return
    }
    const messages = (this.#topics.get(topic)?.messages ?? 0) + 1
    const atMs = this.#nowMs()
    this.#topics.set(topic, { topic, messages, atMs, bytes: payload.length, isRetained })
  }

  /** Newest first. */
  list(): LoggedTopic[] {
    return [...this.#topics.values()]
  }
}
