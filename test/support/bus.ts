import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Test } from 'tap'
import { createEmbeddedBus } from '../../coordinator/fleet/broker/broker.ts'
import type { Bus, BusParts } from '../../coordinator/fleet/broker/bus.ts'
import { createExternalBus } from '../../coordinator/fleet/broker/external.ts'
import { mosquittoFiles } from '../../coordinator/fleet/broker/mosquitto-files.ts'
import { acceptUpgrades } from '../../coordinator/surfaces/http/upgrades.ts'
import { MQTT_PATH } from '../../shared/wire/link.ts'
import { silent } from './cell.ts'
import { findFreePort, type Mosquitto, startMosquitto } from './mosquitto.ts'
import { RawMqtt } from './raw-mqtt.ts'

interface BusMessage {
  name: string
  cellId: string
  text: string
}

/** A bus behind real upgrades, and what it told. Every cell has the credential `good`. */
export interface BusRig {
  bus: Bus
  port: number
  heard: BusMessage[]
  seen: string[]
  takeovers: { cellId: string }[]
  /** The next message that was received. */
  next(): Promise<BusMessage>
  /** A raw client behind an upgrade of this cell; CONNECT is not sent yet. */
  dial(cellId: string, headers?: Record<string, string>): Promise<RawMqtt>
  /** The same after CONNECT. */
  online(cellId: string): Promise<RawMqtt>
}

/** Scope at whose end things are torn down: a test, or a long run. */
type TeardownScope = Pick<Test, 'teardown'> | { teardown: (end: () => unknown) => void }

export type MakeBus = (t: TeardownScope, parts: BusParts) => Promise<Bus>

export const makeEmbeddedBus: MakeBus = (_t, parts) => createEmbeddedBus(parts)

const coordinator = { username: 'coordinator', password: 'a password of the coordinator' }
export const cells = { username: 'cells', password: 'a password of the cells' }

/** A real mosquitto with the files that shoal writes for it. */
export const startBroker = (
  port: number,
  tls?: { cert: string; key: string },
): Promise<Mosquitto> =>
  startMosquitto(folder => {
    const files = mosquittoFiles({ folder, host: '127.0.0.1', port, coordinator, cells })
    if (tls === undefined) return files
    const listener = `certfile ${folder}/server.crt\nkeyfile ${folder}/server.key\n`
    const conf = `${files['mosquitto.conf']}${listener}`
    return { ...files, 'mosquitto.conf': conf, 'server.crt': tls.cert, 'server.key': tls.key }
  })

/** The bus on it, when it is connected. */
export const openExternal = (
  parts: BusParts,
  port: number,
  onChange: (connected: boolean) => void = () => {},
  ca?: Buffer,
): Promise<Bus> =>
  new Promise(resolve => {
    const url = new URL(`${ca ? 'mqtts' : 'mqtt'}://127.0.0.1:${port}`)
    const bus = createExternalBus({
      ...parts,
      broker: { url, coordinator, cells, ...(ca && { ca }) },
      onConnectionChange: connected => {
        onChange(connected)
        if (connected) resolve(bus)
      },
    })
  })

export const mosquittoBus: MakeBus = async (t, parts) => {
  const port = await findFreePort()
  const mosquitto = await startBroker(port)
  t.teardown(mosquitto.stop)
  return openExternal(parts, port)
}

export const busRig = async (
  t: TeardownScope,
  makeBus: MakeBus,
  more: Partial<BusParts> = {},
): Promise<BusRig> => {
  const heard: BusMessage[] = []
  const seen: string[] = []
  const takeovers: { cellId: string }[] = []
  let wake: () => void = () => {}
  const authenticate = (_cellId: string, credential: string): boolean => credential === 'good'
  const bus = await makeBus(t, {
    logger: silent,
    nowMs: () => performance.now(),
    epoch: 1,
    authenticate,
    onActivity: cellId => seen.push(cellId),
    onTakeover: cellId => takeovers.push({ cellId }),
    receive: (name, cellId, payload) => {
      heard.push({ name, cellId, text: String(payload) })
      wake()
    },
    ...more,
  })
  const server = createServer().listen(0, '127.0.0.1')
  acceptUpgrades(server, {
    replicaId: 'rep_test',
    logger: silent,
    authenticate,
    openMqtt: (socket, cellId, caller) => bus.handle(socket, cellId, caller),
    openLink: socket => socket.destroy(),
    isLeaving: () => false,
  })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const clients = new Set<RawMqtt>()
  t.teardown(async () => {
    for (const client of clients) client.socket.destroy()
    await bus.close()
    server.close()
    server.closeAllConnections()
  })
  const next = async (): Promise<BusMessage> => {
    for (;;) {
      const first = heard.shift()
      if (first !== undefined) return first
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  }
  const dial: BusRig['dial'] = async (cellId, headers) => {
    const client = new RawMqtt(await connectUpgraded(port, cellId, headers))
    clients.add(client)
    client.closed.then(() => clients.delete(client))
    return client
  }
  const online = async (cellId: string): Promise<RawMqtt> => {
    const client = await dial(cellId)
    await client.connect(loginOf(cellId))
    return client
  }
  return { bus, port, heard, seen, takeovers, next, dial, online }
}

export const loginOf = (cellId: string) => ({
  clientId: cellId,
  username: cellId,
  password: Buffer.from('good'),
})

const connectUpgraded = async (
  port: number,
  cellId: string,
  more: Record<string, string> = {},
): Promise<Socket> => {
  const authorization = `Basic ${Buffer.from(`${cellId}:good`).toString('base64')}`
  const headers = { ...more, connection: 'Upgrade', upgrade: 'mqtt', authorization }
  const asked = request({ port, host: '127.0.0.1', path: MQTT_PATH, headers, agent: false })
  asked.end()
  const [, socket] = (await once(asked, 'upgrade')) as [IncomingMessage, Socket]
  return socket
}
