import type { Socket } from 'node:net'
import mqtt, { type IConnectPacket, type Packet } from 'mqtt-packet'

type PacketKind = Packet['cmd']
export type PacketOf<C extends PacketKind> = Extract<Packet, { cmd: C }>

/** An MQTT client that sends exactly what it is told, also what no library would send. */
export class RawMqtt {
  readonly socket: Socket
  /** Resolves when the other side ended the connection. */
  readonly closed: Promise<void>
  readonly #packets: Packet[] = []
  #wake: () => void = () => {}
  #over = false

  constructor(socket: Socket) {
    this.socket = socket
    const parser = mqtt.parser()
    parser.on('packet', packet => {
      this.#packets.push(packet)
      this.#wake()
    })
    socket.setNoDelay(true)
    socket.on('data', bytes => void parser.parse(bytes))
    socket.on('error', () => {})
    this.closed = new Promise(resolve => {
      socket.once('close', () => {
        this.#over = true
        this.#wake()
        resolve()
      })
    })
  }

  send(packet: Packet | Buffer): this {
    this.socket.write(Buffer.isBuffer(packet) ? packet : mqtt.generate(packet))
    return this
  }

  /** The next packet of this kind; others before it stay. Undefined when the connection ended. */
  async next<C extends PacketKind>(cmd: C): Promise<PacketOf<C> | undefined> {
    for (;;) {
      const at = this.#packets.findIndex(packet => packet.cmd === cmd)
      if (at >= 0) return this.#packets.splice(at, 1)[0] as PacketOf<C>
      if (this.#over) return undefined
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  /** What has come and was not asked for yet. */
  listPendingPackets(): Packet[] {
    return this.#packets
  }

  async connect(
    options: Partial<IConnectPacket> & { clientId: string },
  ): Promise<PacketOf<'connack'>> {
    this.send(connectPacket(options))
    const answer = await this.next('connack')
    if (answer === undefined) throw new Error('the connection ended before CONNACK')
    return answer
  }

  publish(topic: string, payload: string, more: { qos?: 0 | 1 | 2; retain?: boolean } = {}): this {
    const { qos = 0, retain = false } = more
    return this.send({ cmd: 'publish', topic, payload, qos, retain, dup: false, messageId: 7 })
  }

  /** The granted QoS; 128 is a refusal. Undefined when the connection ended instead. */
  async subscribe(topic: string, qos: 0 | 1 | 2 = 0): Promise<number | undefined> {
    this.send({ cmd: 'subscribe', messageId: 9, subscriptions: [{ topic, qos }] })
    return (await this.next('suback'))?.granted[0] as number | undefined
  }

  /** Comes back when everything sent before was handled; false when the connection ended. */
  async ping(): Promise<boolean> {
    this.send({ cmd: 'pingreq' })
    return (await this.next('pingresp')) !== undefined
  }
}

export const connectPacket = (
  options: Partial<IConnectPacket> & { clientId: string },
): IConnectPacket => ({
  cmd: 'connect',
  protocolId: 'MQTT',
  protocolVersion: 4,
  clean: true,
  keepalive: 30,
  ...options,
})
