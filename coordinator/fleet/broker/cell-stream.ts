import { Transform } from 'node:stream'
import mqtt, { type IConnectPacket, type IPublishPacket } from 'mqtt-packet'
import { parseTopic, topicFor } from '../../../shared/wire/topics.ts'
import { mayPublish, maySubscribe } from './access.ts'
import type { BrokerTopics } from './broker-topics.ts'
import { isKeepaliveAllowed } from './bus.ts'
import { connack, isSupported, UNACCEPTABLE_VERSION } from './connack.ts'
import { decodePacket, PacketReader } from './packets.ts'

/** Packet types, MQTT 3.1.1 table 2.1. */
const CONNECT = 1
const PUBLISH = 3
const SUBSCRIBE = 8

/** Flag in the first byte of PUBLISH. */
const RETAIN = 1

interface CellStreamParts {
  cellId: string
  authenticate: (cellId: string, credential: string) => Promise<boolean> | boolean
  /** Credentials that open the connection at the broker, instead of the cell's own. */
  login: { username: string; password: string }
  topics: BrokerTopics
  /** Sends the answer to a CONNECT that is refused. */
  answer: (connack: Buffer) => void
  /** Receives findings; resolves when they are stored. */
  receiveFindings: (payload: Buffer) => Promise<void> | undefined
  /** Sends PUBACK for findings. */
  confirm: (puback: Buffer) => void
  /** CONNECT was found good; it goes to the broker when this resolves. */
  onAdmitted: () => Promise<void>
}

/**
 * Filters the packets of a cell on the way to an external broker: each complete packet passes only
 * if the rules of the embedded broker allow it. Fails on the first that they do not. The broker's
 * own rules are the second line of defence. Findings do not go to the broker, which would confirm
 * them before they are stored.
 */
export const cellStream = (parts: CellStreamParts): Transform => {
  const packets = new PacketReader()
  let begun = false

  const judge = async (packet: Buffer): Promise<Buffer | undefined> => {
    const type = (packet[0] as number) >> 4
    if (!begun) {
      const connect = await admitConnect(packet, parts)
      await parts.onAdmitted()
      begun = true
      return connect
    }
    if (type === CONNECT) throw new Error('a second CONNECT')
    if (type === PUBLISH) {
      const publish = decodePublish(packet, parts.cellId)
      if (parseTopic(publish.topic)?.name !== 'findings') return withoutRetain(packet, parts)
      takeFindings(publish, parts)
      return undefined
    }
    if (type === SUBSCRIBE) checkSubscribe(packet, parts.cellId)
    return parts.topics.translate(packet, 'to broker')
  }

  const judgeAll = async (stream: Transform, chunk: Buffer): Promise<void> => {
    for (const packet of packets.feed(chunk)) {
      const judged = await judge(packet)
      if (judged !== undefined) stream.push(judged)
    }
  }

  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      judgeAll(this, chunk).then(() => done(), done)
    },
  })
}

const admitConnect = async (packet: Buffer, parts: CellStreamParts): Promise<Buffer> => {
  const { cellId, login, topics } = parts
  const connect = decodePacket(packet)
  if (connect.cmd !== 'connect') throw new Error(`${connect.cmd} before CONNECT`)
  if (!isSupported(connect)) {
    parts.answer(connack(UNACCEPTABLE_VERSION))
    throw new Error('not MQTT 3.1.1')
  }
  checkConnect(connect, cellId)
  if (!(await parts.authenticate(cellId, String(connect.password ?? ''))))
    throw new Error('wrong credential')
  if (connect.will !== undefined) {
    connect.will.retain = false
    connect.will.topic = topics.toBroker(connect.will.topic)
  }
  const { username, password } = login
  const clientId = topics.clientIdOf(cellId)
  return mqtt.generate({ ...connect, clientId, username, password: Buffer.from(password) })
}

const checkConnect = (connect: IConnectPacket, cellId: string): void => {
  const { clientId, username, will, clean, keepalive } = connect
  if (clientId !== cellId) throw new Error('client id is not the cell')
  if (username !== cellId) throw new Error('user name is not the cell')
  if (will !== undefined && will.topic !== topicFor('state', cellId))
    throw new Error('last will on a foreign topic')
  if (clean !== true) throw new Error('sessions are clean')
  if (!isKeepaliveAllowed(keepalive)) throw new Error('keep alive out of range')
}

const decodePublish = (packet: Buffer, cellId: string): IPublishPacket => {
  const publish = decodePacket(packet)
  if (publish.cmd !== 'publish' || !mayPublish(cellId, publish))
    throw new Error('publish not allowed')
  return publish
}

/** Nothing of a cell is retained: the registry is the truth. */
const withoutRetain = (packet: Buffer, { topics }: CellStreamParts): Buffer => {
  packet[0] = (packet[0] as number) & ~RETAIN
  return topics.translate(packet, 'to broker')
}

/** Findings that cannot be stored now stay unconfirmed, so the cell sends them again. */
const takeFindings = (
  { payload, messageId }: IPublishPacket,
  { receiveFindings, confirm }: CellStreamParts,
): void => {
  const stored = receiveFindings(payload as Buffer) ?? Promise.resolve()
  if (messageId === undefined) void stored.catch(() => {})
  else stored.then(() => confirm(mqtt.generate({ cmd: 'puback', messageId }))).catch(() => {})
}

const checkSubscribe = (packet: Buffer, cellId: string): void => {
  const subscribe = decodePacket(packet)
  if (subscribe.cmd !== 'subscribe') throw new Error('malformed')
  for (const { topic } of subscribe.subscriptions)
    if (!maySubscribe(cellId, topic)) throw new Error('subscribe not allowed')
}
