import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import mqtt from 'mqtt-packet'
import { envelope } from '../../shared/wire/envelope.ts'
import { MQTT_PATH, MQTT_PROTOCOL } from '../../shared/wire/link.ts'
import { topicFor } from '../../shared/wire/topics.ts'
import { sample } from '../fleet/bodies.ts'
import type { CellLogin } from '../fleet/simulated-cell.ts'
import type { Abuse, RogueOptions } from './abuse.ts'

const HUGE = Buffer.from([0x30, 0x80, 0x84, 0xaf, 0x5f])
const AGAIN_MS = 50
const FROZEN_EVERY_MS = 5

/**
 * Misuses one valid credential until the process ends; it reconnects at once when it is cut off.
 */
const misuse = (login: CellLogin, options: RogueOptions): void => {
  const { abuse, target } = options
  const again = (): void => void setTimeout(() => misuse(login, options), AGAIN_MS)
  const basic = Buffer.from(`${login.id}:${login.credential}`).toString('base64')
  const asked = request({
    host: target.host,
    port: target.port,
    path: MQTT_PATH,
    agent: false,
    headers: { connection: 'Upgrade', upgrade: MQTT_PROTOCOL, authorization: `Basic ${basic}` },
  })
  asked.on('error', again)
  asked.on('response', again)
  asked.on('upgrade', (_response, socket) => {
    socket.on('error', () => {})
    socket.on('close', again)
    if (abuse !== 'half-open') socket.write(connectOf(login))
    acts[abuse](socket as Socket, login.id)
  })
  asked.end()
}

const connectOf = ({ id, credential }: CellLogin): Buffer =>
  mqtt.generate({
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 4,
    clean: true,
    keepalive: 30,
    clientId: id,
    username: id,
    password: Buffer.from(credential),
  })

const publishOf = (id: string, name: 'telemetry' | 'state', body: unknown, qos: 0 | 1): Buffer =>
  mqtt.generate({
    cmd: 'publish',
    topic: topicFor(name, id),
    payload: JSON.stringify(envelope(id, 1, name, body)),
    qos,
    retain: false,
    dup: false,
    messageId: 3,
  })

const acts: Record<Abuse, (socket: Socket, id: string) => void> = {
  /** The peer has messages acknowledged and never reads the acknowledgements. */
  frozen: (socket, id) => {
    socket.pause()
    const topic = topicFor('rebirth', id)
    socket.write(
      mqtt.generate({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic, qos: 1 }] }),
    )
    const message = publishOf(id, 'state', { state: 'ready' }, 1)
    const timer = setInterval(() => socket.write(message), FROZEN_EVERY_MS)
    socket.on('close', () => clearInterval(timer))
  },
  /** Good samples, as fast as the wire takes them. */
  flood: (socket, id) => {
    const message = publishOf(id, 'telemetry', sample(Date.now()), 0)
    const pour = (): void => {
      while (!socket.destroyed && socket.write(message));
    }
    socket.on('drain', pour)
    pour()
  },
  /** A packet that announces 200 MB and then sends them. */
  huge: socket => {
    socket.write(HUGE)
    const piece = Buffer.alloc(64 * 1024)
    const pour = (): void => {
      while (!socket.destroyed && socket.write(piece));
    }
    socket.on('drain', pour)
    pour()
  },
  'half-open': () => {},
}

const options = JSON.parse(process.argv[2] as string) as RogueOptions
const logins = JSON.parse(readFileSync(options.loginsFile, 'utf8')) as CellLogin[]
for (const login of logins.slice(options.from, options.to)) misuse(login, options)
