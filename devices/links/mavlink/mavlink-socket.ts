import { createSocket, type Socket } from 'node:dgram'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { FairRate } from './fair-rate.ts'
import { type Frame, parseFrames } from './frame.ts'
import type { Peer } from './vehicle.ts'

/** Larger datagrams are dropped; frames are at most 280 bytes, and routers join a few of them. */
const MAX_DATAGRAM_BYTES = 2048
const REBIND_AFTER_MS = 5000

interface SocketParts {
  /** Local address to bind, checked; asked for again at each attempt. */
  resolve: () => Promise<Peer>
  /** Monotonic milliseconds. */
  nowMs: () => number
  onFrame: (frame: Frame, peer: Peer) => void
  /** Number of vehicles that a sender has. */
  countVehicles: (peer: Peer) => number
  /** Reason why nothing can arrive; undefined once the socket is bound. */
  onFault: (reason: string | undefined) => void
}

/** UDP socket that receives frames. It binds again after an error, until it ends. */
export class MavlinkSocket {
  readonly #parts: SocketParts
  #socket: Socket | undefined
  readonly #rate: FairRate

  constructor(parts: SocketParts) {
    this.#parts = parts
    this.#rate = new FairRate(parts.countVehicles)
  }

  /** Receives until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#receive(signal).catch((error: Error) => {
        if (!signal.aborted) this.#parts.onFault(error.message)
      })
      await sleep(REBIND_AFTER_MS, undefined, { signal }).catch(() => {})
    }
  }

  /** Sends bytes; what is sent before the end still leaves. Lost without a bound socket. */
  send(bytes: Buffer, { address, port }: Peer): void {
    this.#socket?.send(bytes, port, address, () => {})
  }

  /** Resolves when the signal aborts, and rejects when the socket fails. */
  async #receive(signal: AbortSignal): Promise<void> {
    const { address, port } = await this.#parts.resolve()
    if (signal.aborted) return
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4')
    const over = Promise.withResolvers<void>()
    socket.once('error', over.reject)
    signal.addEventListener('abort', () => over.resolve(), { once: true })
    socket.on('message', (bytes, peer) => this.#accept(bytes, peer))
    socket.bind({ address, port, exclusive: true }, () => this.#parts.onFault(undefined))
    this.#socket = socket
    try {
      await over.promise
      // a frame that is sent at the abort leaves the socket in the next turn
      await nextTurn()
    } finally {
      this.#socket = undefined
      socket.on('error', () => {})
      socket.close()
    }
  }

  /** Datagrams beyond the rate are dropped; for the link they are losses. */
  #accept(bytes: Buffer, { address, port }: Peer): void {
    const peer = { address, port }
    if (bytes.length > MAX_DATAGRAM_BYTES || !this.#rate.allows(peer, this.#parts.nowMs())) return
    for (const frame of parseFrames(bytes)) this.#parts.onFrame(frame, peer)
  }
}
