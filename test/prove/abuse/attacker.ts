import { connect, type Socket } from 'node:net'
import { KEY_PREFIX, newSecret } from '../../../coordinator/access/keys/secret.ts'
import {
  type AbuseTarget,
  chatBody,
  embeddingBody,
  HOST,
  LARGE_INPUT,
  requestText,
} from './target.ts'

const ATTACKS = [
  'pipelines',
  'slow-readers',
  'idle',
  'slow-bodies',
  'guesses',
  'mqtt-strangers',
  'embeddings',
] as const
export type Attack = (typeof ATTACKS)[number]

interface AttackOptions {
  attack: Attack
  target: AbuseTarget
  /** Share of the full number of connections, up to 1. */
  share: number
}

/** Addresses that attackers come from; honest clients and cells have another one. */
const ADDRESSES = Array.from({ length: 8 }, (_, n) => `127.0.66.${n + 1}`)
const AGAIN_MS = 100
const DOCUMENT = `GET /v1/openapi.json HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`
const SLOW_BODY_BYTES = 100_000

/** Keeps so many connections open; `begin` says what each does, and nothing is read unless it does. */
const keepOpen = (count: number, port: number, begin: (socket: Socket) => void): void => {
  const open = (index: number): void => {
    const localAddress = ADDRESSES[index % ADDRESSES.length] as string
    const socket = connect({ port, host: HOST, localAddress })
    socket.on('error', () => {})
    socket.on('close', () => setTimeout(open, AGAIN_MS, index))
    begin(socket)
  }
  for (let index = 0; index < count; index++) open(index)
}

const guess = (socket: Socket): void => {
  const again = (): void => {
    const { text } = newSecret(KEY_PREFIX)
    socket.write(requestText({ key: text }, '/v1/chat/completions', chatBody('guess')))
  }
  socket.on('data', again)
  again()
}

const attacks: Record<Attack, (target: AbuseTarget, share: number) => void> = {
  /** 50 connections with 1,000 pipelined requests for the API document, none of them read. */
  pipelines: ({ port }, share) =>
    keepOpen(50 * share, port, socket => void socket.write(DOCUMENT.repeat(1000))),
  /** Some requests on each of many connections, none of them read. */
  'slow-readers': ({ port }, share) =>
    keepOpen(400 * share, port, socket => void socket.write(DOCUMENT.repeat(4))),
  /** More connections than the coordinator has descriptors. */
  idle: ({ port }, share) => keepOpen(1500 * share, port, () => {}),
  /** Bodies that come byte by byte. */
  'slow-bodies': (target, share) =>
    keepOpen(500 * share, target.port, socket => {
      const text = requestText(
        target,
        '/v1/chat/completions',
        chatBody('x'.repeat(SLOW_BODY_BYTES)),
      )
      const head = text.indexOf('\r\n\r\n') + 4
      socket.write(text.slice(0, head))
      let at = head
      const timer = setInterval(() => socket.write(text.slice(at, ++at)), 1000)
      socket.on('close', () => clearInterval(timer))
    }),
  /** Well-formed keys that do not exist, as fast as they are refused. */
  guesses: (target, share) => keepOpen(32 * share, target.port, guess),
  /** More silent connections than the plain MQTT port lets wait. */
  'mqtt-strangers': ({ mqttPort }, share) => keepOpen(400 * share, mqttPort, () => {}),
  /** One key with large answers that it does not read. */
  embeddings: (target, share) =>
    keepOpen(
      49 * share,
      target.port,
      socket =>
        void socket.write(requestText(target, '/v1/embeddings', embeddingBody(LARGE_INPUT))),
    ),
}

/** Attacks until the parent has ended. Argument: `AttackOptions`. */
const run = ({ attack, target, share }: AttackOptions): void => {
  attacks[attack](target, share)
  process.once('disconnect', () => process.exit())
  process.send?.('ready')
}

run(JSON.parse(process.argv[2] as string) as AttackOptions)
