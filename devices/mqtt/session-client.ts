import type { Duplex } from 'node:stream'
import { MqttClient } from 'mqtt'

const KEEPALIVE_SECONDS = 15
const CONNECT_TIMEOUT_MS = 10_000
/** Filters in one SUBSCRIBE packet. */
const FILTERS_AT_ONCE = 100

/** Client of one clean session over a socket: it never reconnects, and keeps nothing for later. */
export const createClient = (
  stream: Duplex,
  clientId: string,
  credentials: { username?: string; password?: string },
): MqttClient =>
  new MqttClient(() => stream, {
    ...credentials,
    clientId,
    protocolVersion: 4,
    clean: true,
    keepalive: KEEPALIVE_SECONDS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    reconnectPeriod: 0,
    queueQoSZero: false,
    resubscribe: false,
    subscribeBatchSize: FILTERS_AT_ONCE,
  })

/** Rejects when the client has closed, with its first error. */
export const waitForClose = (client: MqttClient): Promise<never> => {
  let first: Error | undefined
  client.on('error', error => {
    first ??= error
    client.stream.destroy()
  })
  const closed = new Promise<never>((_resolve, reject) => {
    client.once('close', () => reject(first ?? new Error('the connection ended')))
  })
  // also awaited after a first error; the second rejection is the same one
  closed.catch(() => {})
  return closed
}
