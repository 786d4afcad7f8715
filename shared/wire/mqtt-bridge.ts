import * as z from 'zod'
import { PLAIN_MQTT_PORT } from './mqtt-port.ts'

/*
 * MQTT brokers that a cell reaches for the coordinator: questions over the link, and one verb of the
 * cell itself. Credentials are part of neither; they come from the configuration of the cell.
 */

/** Names of the questions. */
export const MQTT_BROKERS = 'mqtt-brokers'
export const MQTT_TOPICS = 'mqtt-topics'
export const MQTT_RETAINED = 'mqtt-retained'
export const MQTT_SUBSCRIBE = 'mqtt-subscribe'

/** Verb of a cell that publishes one message. */
export const MQTT_PUBLISH = 'mqtt-publish'

/** Longest topic or filter, in bytes of UTF-8. */
export const MAX_TOPIC_BYTES = 512

/** Largest payload that can be published, in bytes: a command holds it with its topic. */
export const MAX_PAYLOAD_BYTES = 24 * 1024

/** Bounds of one subscription. */
export const MAX_SUBSCRIBE_SECONDS = 60
const MAX_SUBSCRIBE_MESSAGES = 1000
export const MAX_MESSAGE_BYTES = 64 * 1024
export const MAX_SUBSCRIBE_BYTES = 512 * 1024

/** Time for the connection to a broker, in seconds. */
export const MQTT_CONNECT_SECONDS = 10

/** Most topics of one answer. */
const MAX_TOPICS = 500

export const MqttTopic = z.string().min(1).max(MAX_TOPIC_BYTES)

/** A broker: the name of a configured one, or an address. */
export const MqttBrokerRef = z.strictObject({
  broker: z
    .string()
    .min(1)
    .max(260)
    .describe('Name of a configured broker, or its host, also as host:port.'),
  port: z
    .int()
    .min(1)
    .max(65_535)
    .default(PLAIN_MQTT_PORT)
    .describe('TCP port; a configured name or host:port has its own.'),
})
export type MqttBrokerRef = z.infer<typeof MqttBrokerRef>

export const MqttBrokersInput = z.strictObject({})

/** A configured broker. */
export const MqttBrokerFacts = z.object({
  name: z.string().max(64),
  host: z.string().max(253),
  port: z.int(),
  tls: z.boolean(),
  connected: z.boolean(),
  /** Reason why it is not connected; null while it is. */
  reason: z.string().max(300).nullable(),
  /** Devices that the cell has found at it or has configured for it. */
  devices: z.int().nonnegative(),
  /** Messages that were dropped because they were too large or too many. */
  dropped: z.int().nonnegative(),
  /** Topics to which messages are published without an approval. */
  allow_publish: z.array(MqttTopic).max(64),
  /** Topics to which retained messages are published without an approval. */
  allow_retained: z.array(MqttTopic).max(64),
})
export type MqttBrokerFacts = z.infer<typeof MqttBrokerFacts>

export const MqttBrokersAnswer = z.object({ brokers: z.array(MqttBrokerFacts).max(64) })

export const MqttTopicsInput = z.strictObject({
  broker: z.string().min(1).max(64).exactOptional().describe('Only topics of this broker.'),
  filter: MqttTopic.default('#').describe('MQTT topic filter, with + and # as wildcards.'),
  limit: z.int().min(1).max(MAX_TOPICS).default(100),
})

/** A topic on which a link has received messages since the cell started. */
const MqttTopicFacts = z.object({
  broker: z.string().max(64),
  topic: MqttTopic,
  messages: z.int().positive(),
  /** Age of the newest message, in milliseconds. */
  age_ms: z.number().nonnegative(),
  /** Size of the newest payload. */
  bytes: z.int().nonnegative(),
  /** True when the newest message was a retained one: its age is unknown. */
  retained: z.boolean(),
})

export const MqttTopicsAnswer = z.object({
  /** Newest first. */
  topics: z.array(MqttTopicFacts).max(MAX_TOPICS),
  /** Topics that match, also those beyond the limit. */
  total: z.int().nonnegative(),
  /** Topics that were forgotten because a broker has too many. */
  forgotten: z.int().nonnegative(),
})

export const MqttRetainedInput = z.strictObject({
  ...MqttBrokerRef.shape,
  topic: MqttTopic.default('#').describe('MQTT topic filter, with + and # as wildcards.'),
  max_messages: z.int().min(1).max(MAX_TOPICS).default(100),
})

export const MqttSubscribeInput = z.strictObject({
  ...MqttBrokerRef.shape,
  topic: MqttTopic.describe('MQTT topic filter, with + and # as wildcards.'),
  seconds: z.int().min(1).max(MAX_SUBSCRIBE_SECONDS).default(MAX_SUBSCRIBE_SECONDS),
  max_messages: z.int().min(1).max(MAX_SUBSCRIBE_MESSAGES).default(100),
  max_message_bytes: z
    .int()
    .min(1)
    .max(MAX_MESSAGE_BYTES)
    .default(16 * 1024),
  max_bytes: z
    .int()
    .min(1)
    .max(MAX_SUBSCRIBE_BYTES)
    .default(256 * 1024)
    .describe('Payload bytes of all messages.'),
})
export type MqttSubscribeInput = z.infer<typeof MqttSubscribeInput>

/** A received message, as it travels from the cell. */
export const MqttMessageFacts = z.object({
  topic: MqttTopic,
  /** UTF-8 text, or base64 of a payload that is not text. */
  payload: z.string().max(2 * MAX_MESSAGE_BYTES),
  encoding: z.enum(['text', 'base64']),
  bytes: z.int().nonnegative(),
  retained: z.boolean(),
  /** Unix milliseconds, by the cell's clock. */
  at: z.int().nonnegative(),
})
export type MqttMessageFacts = z.infer<typeof MqttMessageFacts>

/** Reason for the end of a subscription: the bound that was reached, or `broker` when it left. */
export const MqttEnd = z.enum(['seconds', 'messages', 'bytes', 'retained', 'broker'])
export type MqttEnd = z.infer<typeof MqttEnd>

/** Events of a subscription, in this order; the broker has confirmed it with the first one. */
export const MqttSubscribeEvent = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('subscribed'),
    /** Name of a configured broker; null for another one, which gets no credentials. */
    name: z.string().max(64).nullable(),
    host: z.string().max(253),
    port: z.int(),
  }),
  z.object({ kind: z.literal('message'), message: MqttMessageFacts }),
  z.object({
    kind: z.literal('end'),
    ended_by: MqttEnd,
    /** Messages that were dropped because they were too large or too many. */
    dropped: z.int().nonnegative(),
  }),
])
export type MqttSubscribeEvent = z.infer<typeof MqttSubscribeEvent>

/** Parameters of the verb. */
export const MqttPublishParams = z.strictObject({
  ...MqttBrokerRef.shape,
  topic: MqttTopic.describe('Topic, without wildcards.'),
  payload: z.string().max(MAX_PAYLOAD_BYTES).describe('Text of the message.'),
  retain: z.boolean().default(false).describe('Let the broker keep it for later subscribers.'),
  qos: z.union([z.literal(0), z.literal(1)]).default(1),
})
export type MqttPublishParams = z.infer<typeof MqttPublishParams>
