import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { findLink, type Link } from './links.ts'
import { type MdnsPacket, readPacket } from './packet.ts'

/** Group and port of multicast DNS over IPv4 (RFC 6762, 3). */
const MDNS_GROUP = '224.0.0.251'
export const MDNS_PORT = 5353

/** Packets that are read in a second; a flood beyond it is dropped unread. */
const MAX_PACKETS_PER_SECOND = 400

interface Sender {
  address: string
  port: number
}

type PacketListener = (packet: MdnsPacket, link: Link, sender: Sender) => void

/**
 * Sockets of multicast DNS on some links. One socket receives what is sent to the group; each link
 * has a socket of its own for sending, bound to its address, as the outgoing interface belongs to
 * the socket. Packets from an address outside the subnets of the links are dropped (RFC 6762, 11).
 */
export class MdnsSockets implements AsyncDisposable {
  readonly links: readonly Link[]
  readonly #receiver: Socket
  readonly #senders = new Map<string, Socket>()
  readonly #onPacket: PacketListener
  #window = 0
  #packets = 0

  private constructor(links: readonly Link[], onPacket: PacketListener) {
    this.links = links
    this.#onPacket = onPacket
    this.#receiver = this.#createSocket()
  }

  /**
   * @throws the error of the system when the port cannot be shared; links that vanish or refuse
   *   multicast are left out
   */
  static async open(links: readonly Link[], onPacket: PacketListener): Promise<MdnsSockets> {
    const sockets = new MdnsSockets(links, onPacket)
    try {
      await bind(sockets.#receiver, '0.0.0.0')
      for (const link of links) await sockets.#join(link)
      return sockets
    } catch (error) {
      await sockets[Symbol.asyncDispose]()
      throw error
    }
  }

  /**
   * Sends to the group on a link; resolves when the packet left this process. A link that went down
   * loses the packet, as any network may.
   */
  send(link: Link, bytes: Uint8Array): Promise<void> {
    const socket = this.#senders.get(link.name)
    return new Promise(resolve => {
      if (socket === undefined) resolve()
      else socket.send(bytes, MDNS_PORT, MDNS_GROUP, () => resolve())
    })
  }

  /** Answers a resolver that does not speak multicast DNS (RFC 6762, 6.7). */
  sendTo(link: Link, { address, port }: Sender, bytes: Uint8Array): void {
    this.#senders.get(link.name)?.send(bytes, port, address, () => {})
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#receiver, ...this.#senders.values()].map(close))
  }

  #createSocket(): Socket {
    const socket = createSocket({ type: 'udp4', reuseAddr: true })
    socket.on('message', (bytes, sender) => this.#read(bytes, sender))
    socket.on('error', () => {})
    return socket
  }

  async #join(link: Link): Promise<void> {
    const socket = this.#createSocket()
    this.#senders.set(link.name, socket)
    try {
      await bind(socket, link.address)
      socket.setMulticastInterface(link.address)
      socket.setMulticastTTL(255)
      this.#receiver.addMembership(MDNS_GROUP, link.address)
    } catch {
      this.#senders.delete(link.name)
      await close(socket)
    }
  }

  #read(bytes: Buffer, { address, port }: RemoteInfo): void {
    const link = findLink(this.links, address)
    if (link === undefined || !this.#mayRead()) return
    const packet = readPacket(bytes)
    if (packet !== undefined) this.#onPacket(packet, link, { address, port })
  }

  #mayRead(): boolean {
    const second = Math.floor(performance.now() / 1000)
    if (second !== this.#window) {
      this.#window = second
      this.#packets = 0
    }
    this.#packets++
    return this.#packets <= MAX_PACKETS_PER_SECOND
  }
}

const bind = async (socket: Socket, address: string): Promise<void> => {
  socket.bind(MDNS_PORT, address)
  await once(socket, 'listening')
}

const close = (socket: Socket): Promise<void> =>
  new Promise(resolve => {
    try {
      socket.close(() => resolve())
    } catch {
      // a socket that never opened has nothing to close
      resolve()
    }
  })
