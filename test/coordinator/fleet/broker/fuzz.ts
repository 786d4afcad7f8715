import mqtt, { type Packet } from 'mqtt-packet'
import { newId } from '../../../../shared/ids.ts'
import { topicFor } from '../../../../shared/wire/topics.ts'
import { type BusRig, loginOf } from '../../../support/bus.ts'
import { connectPacket } from '../../../support/raw-mqtt.ts'

export interface FuzzOptions {
  packets: number
  seed: number
}

interface FuzzResult {
  packets: number
  connections: number
  /** Messages that were taken for somebody else's than the sender's. */
  misattributed: number
  /** True when an honest cell was connected from beginning to end. */
  honestStayed: boolean
}

const PER_CONNECTION = 8

/** Sends packets that were damaged, before and after a good CONNECT, beside an honest cell. */
export const fuzzBroker = async (rig: BusRig, options: FuzzOptions): Promise<FuzzResult> => {
  const random = generator(options.seed)
  const [honestId, rogueId] = [newId('cell'), newId('cell')]
  const honest = await rig.online(honestId)
  const originals = packetsOf(rogueId, honestId)
  const result = { packets: 0, connections: 0, misattributed: 0, honestStayed: true }
  while (result.packets < options.packets) {
    const rogue = await rig.dial(rogueId)
    if (random(2) === 0) rogue.send(connectPacket(loginOf(rogueId)))
    for (let i = 0; i < PER_CONNECTION; i++) {
      rogue.send(damagePacket(originals[random(originals.length)] as Buffer, random))
      result.packets++
    }
    rogue.socket.end()
    await rogue.closed
    result.connections++
    result.misattributed += rig.heard.splice(0).filter(({ cellId }) => cellId !== rogueId).length
    if (result.connections % 50 === 0) result.honestStayed &&= await honest.ping()
  }
  result.honestStayed &&= await honest.ping()
  return result
}

/** xorshift32: the same seed gives the same run. */
const generator = (seed: number): ((below: number) => number) => {
  let state = seed | 1
  return below => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

const packetsOf = (rogueId: string, honestId: string): Buffer[] => {
  const own = topicFor('state', rogueId)
  const publish = { cmd: 'publish', topic: own, payload: 'x'.repeat(40), dup: false } as const
  const packets: Packet[] = [
    connectPacket(loginOf(rogueId)),
    connectPacket(loginOf(honestId)),
    { ...publish, qos: 0, retain: false },
    { ...publish, qos: 1, retain: true, messageId: 5 },
    { ...publish, qos: 1, retain: false, messageId: 6, topic: topicFor('state', honestId) },
    { ...publish, qos: 2, retain: false, messageId: 7 },
    { cmd: 'subscribe', messageId: 8, subscriptions: [{ topic: '#', qos: 2 }] },
    { cmd: 'subscribe', messageId: 9, subscriptions: [{ topic: '$SYS/#', qos: 0 }] },
    { cmd: 'unsubscribe', messageId: 10, unsubscriptions: [own] },
    { cmd: 'puback', messageId: 11 },
    { cmd: 'pubrec', messageId: 12 },
    { cmd: 'pubrel', messageId: 13 },
    { cmd: 'pubcomp', messageId: 14 },
    { cmd: 'pingreq' },
    { cmd: 'disconnect' },
  ]
  return packets.map(packet => mqtt.generate(packet))
}

/** One to four bytes changed, then perhaps cut, lengthened or doubled. */
const damagePacket = (packet: Buffer, random: (below: number) => number): Buffer => {
  const bytes = Buffer.from(packet)
  for (let changes = 1 + random(4); changes > 0; changes--)
    bytes[random(bytes.length)] = random(256)
  const kind = random(6)
  if (kind === 0) return bytes.subarray(0, 1 + random(bytes.length))
  if (kind === 1) return Buffer.concat([bytes, Buffer.from([random(256), random(256)])])
  if (kind === 2) return Buffer.concat([bytes, bytes])
  return bytes
}
