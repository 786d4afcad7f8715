import { hash } from 'node:crypto'
import * as z from 'zod'
import { MAX_TOPIC_BYTES } from '../../shared/wire/mqtt-bridge.ts'
import type { LinkContext } from '../device-link.ts'
import { dial, FINGERPRINT, normalizeFingerprint } from '../net/dial.ts'
import { createTrust } from '../net/trust.ts'
import { MqttConnection, type MqttOptions } from './connection.ts'
import { isTopicFilter } from './topics.ts'

const TopicFilters = z
  .array(
    z
      .string()
      .max(MAX_TOPIC_BYTES)
      .refine(isTopicFilter, 'must be an MQTT topic filter, such as home/+/set'),
  )
  .max(64)
  .default([])

/** Fields of a broker in the configuration of a cell. */
export const BROKER_FIELDS = {
  name: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,39}$/)
    .describe('Name of the broker.'),
  url: z
    .string()
    .max(300)
    .regex(/^mqtts?:\/\/[^\s/@]+\/?$/, 'must be like mqtts://broker.example:8883')
    .describe('Address, mqtts unless the network is trusted; credentials are in files.'),
  username: z.string().min(1).max(256).exactOptional(),
  password_file: z.string().min(1).max(4096).exactOptional(),
  ca_file: z
    .string()
    .min(1)
    .max(4096)
    .exactOptional()
    .describe('Authority of the broker, PEM; those of the system when absent.'),
  fingerprint: z
    .string()
    .max(128)
    .transform(normalizeFingerprint)
    .pipe(z.string().regex(FINGERPRINT))
    .exactOptional()
    .describe('SHA-256 of the certificate of the broker, instead of an authority.'),
  max_message_bytes: z
    .int()
    .min(1024)
    .max(4 * 1024 * 1024)
    .default(1024 * 1024)
    .describe('Largest message that is read.'),
  messages_per_second: z
    .int()
    .min(1)
    .max(10_000)
    .default(200)
    .describe('Average rate of messages that are read; ten seconds of it may come at once.'),
  allow_publish: TopicFilters.describe(
    'Topics to which operators publish messages without an approval; devices that read them are moved by that.',
  ),
  allow_retained: TopicFilters.describe(
    'Topics to which operators publish retained messages without an approval.',
  ),
}

const Broker = z.object(BROKER_FIELDS)
export type BrokerConfig = z.infer<typeof Broker>

const PORTS: Readonly<Record<string, number>> = { 'mqtt:': 1883, 'mqtts:': 8883 }

type Parts = Pick<LinkContext, 'cellId' | 'logger' | 'nowMs' | 'resolveHost' | 'readSecret'>

/** Address in the URL of a broker. */
export const readBrokerAddress = ({ url }: Pick<BrokerConfig, 'url'>) => {
  const { hostname, port, protocol } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  return { host, port: Number(port) || (PORTS[protocol] ?? 0), isTls: protocol === 'mqtts:' }
}

/** Id and limits of one connection, where they are not those of the link. */
type ConnectionOptions = Partial<Pick<MqttOptions, 'clientId' | 'limits'>>

/** Connection to a broker of the configuration; it is not started. */
export const createBrokerConnection = (
  config: BrokerConfig,
  parts: Parts,
  options: ConnectionOptions = {},
): MqttConnection => {
  const { name, username, password_file } = config
  const { cellId, logger, nowMs, resolveHost, readSecret } = parts
  const { host, port, isTls } = readBrokerAddress(config)
  return new MqttConnection({
    name,
    clientId: `shoal-${hash('sha256', `${cellId}:${name}`).slice(0, 16)}`,
    limits: {
      maxMessageBytes: config.max_message_bytes,
      messagesPerSecond: config.messages_per_second,
    },
    ...options,
    dial: async signal => {
      const tls = isTls ? await createTrust(`broker ${name}`, config, readSecret) : undefined
      return dial({ host, port, tls }, resolveHost, signal)
    },
    readCredentials: async () => ({
      ...(username !== undefined && { username }),
      ...(password_file !== undefined && { password: await readSecret(password_file) }),
    }),
    logger,
    nowMs,
  })
}
