import type { MqttMessage } from '../../../devices/mqtt/connection.ts'
import { isTopicFilter } from '../../../devices/mqtt/topics.ts'
import { ShoalError } from '../../../shared/errors.ts'
import type { MqttSubscribeEvent, MqttSubscribeInput } from '../../../shared/wire/mqtt-bridge.ts'
import { MAX_TOPIC_BYTES } from '../../../shared/wire/mqtt-bridge.ts'
import type { BrokerTarget } from './find-broker.ts'
import { Inbox } from './inbox.ts'
import { toMessageFacts } from './message-facts.ts'
import type { BridgeSession, MqttBridge } from './mqtt-bridge.ts'

/** A subscription, and what ends it. */
interface Subscription
  extends Pick<
    MqttSubscribeInput,
    'topic' | 'seconds' | 'max_messages' | 'max_message_bytes' | 'max_bytes'
  > {
  /** Takes retained messages alone, and ends when none has come for this time. */
  retainedIdleMs?: number
}

const MESSAGES_PER_SECOND = 200

/** Subscribes to a broker and yields what it sends, within the bounds of the subscription. */
export const receiveMessages = (
  bridge: MqttBridge,
  target: BrokerTarget,
  subscription: Subscription,
  signal: AbortSignal,
): AsyncGenerator<MqttSubscribeEvent, void, void> => {
  requireFilter(subscription.topic)
  const limits = {
    maxMessageBytes: subscription.max_message_bytes + MAX_TOPIC_BYTES,
    messagesPerSecond: MESSAGES_PER_SECOND,
  }
  return bridge.useSession(target, limits, signal, session =>
    readSession(session, target, subscription, signal),
  )
}

/** @throws ShoalError invalid_request for what is no topic filter */
const requireFilter = (topic: string): void => {
  if (isTopicFilter(topic) && Buffer.byteLength(topic) <= MAX_TOPIC_BYTES) return
  throw new ShoalError(
    'invalid_request',
    `topic must be an MQTT topic filter of at most ${MAX_TOPIC_BYTES} bytes, such as home/+/state`,
    { param: 'topic' },
  )
}

async function* readSession(
  { connection, ended }: BridgeSession,
  { host, port, linked }: BrokerTarget,
  subscription: Subscription,
  signal: AbortSignal,
): AsyncGenerator<MqttSubscribeEvent, void, void> {
  const inbox = new Inbox(subscription)
  ended.catch(() => inbox.end('broker'))
  const timers = new Timers(inbox, subscription)
  const abort = (): void => inbox.end('broker')
  signal.addEventListener('abort', abort, { once: true })
  let oversized = 0
  connection.onMessage(message => {
    if (!isWanted(message, subscription)) return
    if (isOversized(message, subscription)) oversized++
    else inbox.add(message)
    timers.restart()
  })
  try {
    await Promise.race([connection.requestSubscription(subscription.topic), ended])
    timers.start()
    yield { kind: 'subscribed', name: linked?.name ?? null, host, port }
    for await (const message of inbox.read())
      yield { kind: 'message', message: toMessageFacts(message, Date.now()) }
    const dropped = connection.dropped + oversized
    yield { kind: 'end', ended_by: inbox.endedBy ?? 'broker', dropped }
  } finally {
    signal.removeEventListener('abort', abort)
    timers.stop()
  }
}

const isWanted = ({ isRetained }: MqttMessage, { retainedIdleMs }: Subscription): boolean =>
  retainedIdleMs === undefined || isRetained

const isOversized = (
  { topic, payload }: MqttMessage,
  { max_message_bytes }: Subscription,
): boolean => payload.length > max_message_bytes || Buffer.byteLength(topic) > MAX_TOPIC_BYTES

/** The time of a subscription, and the silence that ends one for retained messages. */
class Timers {
  readonly #inbox: Inbox
  readonly #subscription: Subscription
  #whole: NodeJS.Timeout | undefined
  #idle: NodeJS.Timeout | undefined

  constructor(inbox: Inbox, subscription: Subscription) {
    this.#inbox = inbox
    this.#subscription = subscription
  }

  start(): void {
    const { seconds } = this.#subscription
    this.#whole = setTimeout(() => this.#inbox.end('seconds'), seconds * 1000)
    this.restart()
  }

  restart(): void {
    const { retainedIdleMs } = this.#subscription
    if (retainedIdleMs === undefined) return
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => this.#inbox.end('retained'), retainedIdleMs)
  }

  stop(): void {
    clearTimeout(this.#whole)
    clearTimeout(this.#idle)
  }
}
