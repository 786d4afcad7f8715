import { pbkdf2Sync, randomBytes } from 'node:crypto'
import { connectAsync, type MqttClient } from 'mqtt'
import type { Test } from 'tap'
import * as z from 'zod'
import type { LinkContext } from '../../devices/device-link.ts'
import { BROKER_FIELDS, type BrokerConfig } from '../../devices/mqtt/broker-config.ts'
import { createLinkedBroker, type MqttDeviceLink } from '../../devices/mqtt/linked-broker.ts'
import { FakeLink } from './fake-link.ts'
import { findFreePort, type Mosquitto, startMosquitto } from './mosquitto.ts'

interface MqttBroker {
  port: number
  mosquitto: Mosquitto
  /** A client beside the cell. */
  connect(): Promise<MqttClient>
}

const USER = 'cell'
const PASSWORD = 'a password of the cell'

/** A real mosquitto of a site, open or for one user; it ends with the test. */
export const startMqttBroker = async (
  t: Pick<Test, 'teardown'>,
  { isOpen = true } = {},
): Promise<MqttBroker> => {
  const port = await findFreePort()
  const mosquitto = await startMosquitto(folder => ({
    'mosquitto.conf': [
      `listener ${port} 127.0.0.1`,
      `allow_anonymous ${isOpen}`,
      ...(isOpen ? [] : [`password_file ${folder}/passwords`]),
      '',
    ].join('\n'),
    ...(isOpen ? {} : { passwords: hashPassword(USER, PASSWORD) }),
  }))
  t.teardown(mosquitto.stop)
  const connect = async (): Promise<MqttClient> => {
    const login = isOpen ? {} : { username: USER, password: PASSWORD }
    const client = await connectAsync(`mqtt://127.0.0.1:${port}`, login)
    t.teardown(() => client.endAsync(true))
    return client
  }
  return { port, mosquitto, connect }
}

/** Line of a password file, as mosquitto_passwd(1) writes it. */
const hashPassword = (user: string, password: string): string => {
  const salt = randomBytes(12)
  const hash = pbkdf2Sync(password, salt, 101, 64, 'sha512')
  return `${user}:$7$101$${salt.toString('base64')}$${hash.toString('base64')}\n`
}

/** Configuration of the broker `home`, with the right credentials. */
export const brokerConfig = (port: number, more: Partial<BrokerConfig> = {}): BrokerConfig => ({
  ...z.object(BROKER_FIELDS).parse({ name: 'home', url: `mqtt://127.0.0.1:${port}` }),
  username: USER,
  password_file: PASSWORD,
  ...more,
})

/** A link that is connected to a broker and reads all its topics; it has no devices. */
export const createBrokerLink = (config: BrokerConfig, context: LinkContext): MqttDeviceLink => {
  const broker = createLinkedBroker(config, context)
  broker.connection.subscribe(['#'])
  return Object.assign(new FakeLink(), {
    kind: 'mqtt' as const,
    broker,
    start: (signal: AbortSignal) => broker.connection.start(signal),
  })
}
