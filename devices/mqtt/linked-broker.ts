import type { DeviceLink, LinkContext } from '../device-link.ts'
import { type BrokerConfig, createBrokerConnection, readBrokerAddress } from './broker-config.ts'
import type { MqttConnection, MqttOptions } from './connection.ts'
import { TopicLog } from './topic-log.ts'

/** A broker of the configuration, with the connection of its link. */
export interface LinkedBroker {
  readonly name: string
  readonly host: string
  readonly port: number
  readonly isTls: boolean
  /** Topics to which messages may be published without an approval. */
  readonly allowPublish: readonly string[]
  readonly allowRetained: readonly string[]
  /** Connection of the link; it is not started. */
  readonly connection: MqttConnection
  /** Topics that the link has received. */
  readonly topics: TopicLog
  /** Creates a further connection with the same credentials; it is not started. */
  createConnection(options: Pick<MqttOptions, 'clientId' | 'limits'>): MqttConnection
}

/** A link over MQTT. */
export interface MqttDeviceLink extends DeviceLink {
  readonly kind: 'mqtt'
  readonly broker: LinkedBroker
}

export const isMqttLink = (link: DeviceLink): link is MqttDeviceLink =>
  link.kind === 'mqtt' && 'broker' in link

/** The broker of a configuration; its connection is not started. */
export const createLinkedBroker = (config: BrokerConfig, context: LinkContext): LinkedBroker => {
  const connection = createBrokerConnection(config, context)
  const topics = new TopicLog(context.nowMs)
  connection.onMessage(message => topics.add(message))
  return {
    name: config.name,
    ...readBrokerAddress(config),
    allowPublish: config.allow_publish,
    allowRetained: config.allow_retained,
    connection,
    topics,
    createConnection: options => createBrokerConnection(config, context, options),
  }
}
