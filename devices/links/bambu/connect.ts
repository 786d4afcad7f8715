import { hash } from 'node:crypto'
import type { LinkContext } from '../../device-link.ts'
import { MqttConnection } from '../../mqtt/connection.ts'
import { dial, type TlsTrust } from '../../net/dial.ts'
import { reportTopicOf } from './topics.ts'

interface PrinterAddress {
  serial: string
  host: string
  port: number
  trust: TlsTrust
  readAccessCode: () => Promise<string>
}

type Parts = Pick<LinkContext, 'cellId' | 'logger' | 'nowMs' | 'resolveHost'>

/** User name of every printer (Doridian/OpenBambuAPI, mqtt.md). */
const USERNAME = 'bblp'
/** A full status has about 10 KiB; the printer sends one message a second. */
const LIMITS = { maxMessageBytes: 256 * 1024, messagesPerSecond: 20 }

/** Connection to the broker in a printer, subscribed to its reports; it is not started. */
export const createPrinterConnection = (
  { serial, host, port, trust, readAccessCode }: PrinterAddress,
  { cellId, logger, nowMs, resolveHost }: Parts,
): MqttConnection => {
  const connection = new MqttConnection({
    name: `printer ${serial}`,
    clientId: `shoal-${hash('sha256', `${cellId}:${serial}`).slice(0, 16)}`,
    limits: LIMITS,
    dial: signal => dial({ host, port, tls: trust }, resolveHost, signal),
    readCredentials: async () => ({ username: USERNAME, password: await readAccessCode() }),
    logger,
    nowMs,
  })
  connection.subscribe([reportTopicOf(serial)])
  return connection
}

/** Request for a full status. */
export const PUSHALL = JSON.stringify({
  pushing: { sequence_id: '0', command: 'pushall', version: 1, push_target: 1 },
})

/** Shortest time between two requests for a full status: they slow down the smaller printers. */
export const PUSHALL_EVERY_MS = 300_000
