import { Transform } from 'node:stream'
import mqtt from 'mqtt-packet'
import { decodePacket, PacketReader } from './packets.ts'

/** Topics of this coordinator at an external broker, and the names of its cells there. */
export interface BrokerTopics {
  /** The broker's rules go by the client id. */
  clientIdOf(cellId: string): string
  toBroker(topic: string): string
  toCell(topic: string): string
  /** Translates the topics of a whole packet. */
  translate(packet: Buffer, direction: 'to broker' | 'to cell'): Buffer
  /** Translates what the broker sends to a cell; it emits whole packets, one at a time. */
  createDownStream(): Transform
}

/** One coordinator uses the topics of the wire as they are. */
const SOLE: BrokerTopics = {
  clientIdOf: cellId => cellId,
  toBroker: topic => topic,
  toCell: topic => topic,
  translate: packet => packet,
  createDownStream: () => createTranslator(packet => packet),
}

/**
 * Topics of a coordinator. Each of several coordinators has its own topics, with its id as one more
 * level: a cell has a session with each of them, and what one hears of its session, such as its
 * end, is not true of the others.
 */
export const createBrokerTopics = (replicaId: string | undefined): BrokerTopics => {
  if (replicaId === undefined) return SOLE
  const toBroker = (topic: string) =>
    topic.split('/').toSpliced(levelOf(topic), 0, replicaId).join('/')
  const toCell = (topic: string) => topic.split('/').toSpliced(levelOf(topic), 1).join('/')
  const translate: BrokerTopics['translate'] = (packet, direction) =>
    translatePacket(packet, direction === 'to broker' ? toBroker : toCell)
  return {
    clientIdOf: cellId => `${cellId}/${replicaId}`,
    toBroker,
    toCell,
    translate,
    createDownStream: () => createTranslator(packet => translate(packet, 'to cell')),
  }
}

/** Place of the added level: `shoal/v1/cells/{cell}/HERE/…`, `shoal/v1/coordinator/HERE/state`. */
const levelOf = (topic: string): number => (topic.split('/')[2] === 'cells' ? 4 : 3)

/** Types of the packets with topics, MQTT 3.1.1 table 2.1. */
const WITH_TOPICS: ReadonlySet<number> = new Set([3, 8, 10])

const translatePacket = (bytes: Buffer, rename: (topic: string) => string): Buffer => {
  if (!WITH_TOPICS.has((bytes[0] as number) >> 4)) return bytes
  const packet = decodePacket(bytes)
  if (packet.cmd === 'publish') packet.topic = rename(packet.topic)
  if (packet.cmd === 'unsubscribe') packet.unsubscriptions = packet.unsubscriptions.map(rename)
  if (packet.cmd === 'subscribe')
    packet.subscriptions = packet.subscriptions.map(each => ({
      ...each,
      topic: rename(each.topic),
    }))
  return mqtt.generate(packet)
}

const createTranslator = (translate: (packet: Buffer) => Buffer): Transform => {
  const packets = new PacketReader()
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        for (const packet of packets.feed(chunk)) this.push(translate(packet))
        done()
      } catch (error) {
        done(error as Error)
      }
    },
  })
}
