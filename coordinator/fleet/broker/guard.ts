import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { stopTimer, systemRuntime, type Timer } from '../../../shared/runtime.ts'
import { TokenBucket } from '../../../shared/token-bucket.ts'

export interface GuardLimits {
  maxPacketBytes: number
  /** Average rate and burst of incoming traffic; a peer that exceeds them is throttled. */
  bytes: Rate
  packets: Rate
  /** Longest time a peer is held back; one that owes more is cut off. */
  maxWaitMs: number
}

interface Rate {
  perSecond: number
  burst: number
}

type Violation = 'packet_too_large' | 'flood' | 'malformed'

/**
 * Follows the packet borders of an MQTT byte stream without keeping the packets: the fixed header
 * is one byte of type and one to four of remaining length (MQTT 3.1.1, section 2.2.3).
 */
export class PacketMeter {
  #rest = 0
  #lengthBytes = 0
  #length = 0
  #inHeader = false
  #packets = 0

  /** Packets that have begun so far. */
  get packets(): number {
    return this.#packets
  }

  /** Feeds bytes; tells the first packet that is too large or has no valid length. */
  feed(chunk: Uint8Array, maxPacketBytes: number): Violation | undefined {
    for (let at = 0; at < chunk.length; ) {
      if (this.#rest > 0) {
        const skip = Math.min(this.#rest, chunk.length - at)
        this.#rest -= skip
        at += skip
        continue
      }
      const violation = this.#header(chunk[at++] as number, maxPacketBytes)
      if (violation !== undefined) return violation
    }
    return undefined
  }

  #header(byte: number, maxPacketBytes: number): Violation | undefined {
    if (!this.#inHeader) {
      this.#inHeader = true
      this.#packets++
      this.#lengthBytes = 0
      this.#length = 0
      return undefined
    }
    this.#length += (byte & 127) * 128 ** this.#lengthBytes++
    if (this.#length > maxPacketBytes) return 'packet_too_large'
    if ((byte & 128) === 0) {
      this.#inHeader = false
      this.#rest = this.#length
      return undefined
    }
    return this.#lengthBytes === 4 ? 'malformed' : undefined
  }
}

/** A bucket over bytes, or over packets. */
const createBucket = ({ perSecond, burst }: Rate, now: () => number): TokenBucket =>
  new TokenBucket({ amount: perSecond, perMs: 1000, burst }, now)

/**
 * A read of at least this many bytes ends the peer's turn. Node reads a socket up to 32 times, 64 KiB
 * each, before it looks at another one.
 */
const TURN_BYTES = 16 * 1024

interface GuardOptions extends GuardLimits {
  nowMs: () => number
  /** Any bytes came: the peer is alive. */
  onActivity: () => void
  onViolation: (violation: Violation) => void
}

/**
 * Stands between a socket and the broker, which has no limits of its own: cuts packets that are
 * too large before they are collected, slows a peer that sends too much, and cuts one that floods.
 * A peer that sends without a pause takes turns with all other sockets.
 */
export const guardSocket = (socket: Socket, options: GuardOptions): Duplex => {
  const meter = new PacketMeter()
  const bytes = createBucket(options.bytes, options.nowMs)
  const packets = createBucket(options.packets, options.nowMs)
  let resumeTimer: Timer | undefined
  let endOfTurn: Timer | undefined

  const guarded = new Duplex({
    read: () => {
      if (resumeTimer === undefined && endOfTurn === undefined) socket.resume()
    },
    write: (chunk, _encoding, done) => {
      if (socket.destroyed) done()
      else socket.write(chunk, () => done())
    },
    // the broker writes a packet in pieces; one write costs as much as all of them
    writev: (pieces, done) => {
      if (socket.destroyed) done()
      else socket.write(Buffer.concat(pieces.map(({ chunk }) => chunk as Buffer)), () => done())
    },
    final: done => {
      socket.end()
      done()
    },
    destroy: (error, done) => {
      stopTimer(resumeTimer)
      stopTimer(endOfTurn)
      socket.destroy()
      done(error)
    },
  })

  const resume = (): void => {
    resumeTimer = endOfTurn = undefined
    if (guarded.readableLength < guarded.readableHighWaterMark) socket.resume()
  }

  const slowDown = (waitMs: number): void => {
    socket.pause()
    resumeTimer = systemRuntime.setTimeout(resume, waitMs)
  }

  const endTurn = (): void => {
    socket.pause()
    endOfTurn = systemRuntime.setImmediate(resume)
  }

  const cut = (violation: Violation): void => {
    options.onViolation(violation)
    guarded.destroy()
  }

  /** Milliseconds by which the peer exceeds its allowed rate. */
  const ahead = (chunk: Buffer, packetsBefore: number): number => {
    const forBytes = bytes.take(chunk.length)
    return Math.max(forBytes, packets.take(meter.packets - packetsBefore))
  }

  socket.on('data', (chunk: Buffer) => {
    options.onActivity()
    const before = meter.packets
    const violation = meter.feed(chunk, options.maxPacketBytes)
    if (violation !== undefined) return cut(violation)
    const waitMs = ahead(chunk, before)
    if (waitMs > options.maxWaitMs) return cut('flood')
    if (!guarded.push(chunk)) socket.pause()
    if (waitMs > 0) slowDown(waitMs)
    else if (chunk.length >= TURN_BYTES) endTurn()
  })
  socket.on('end', () => guarded.push(null))
  socket.on('error', () => guarded.destroy())
  socket.on('close', () => guarded.destroy())
  return guarded
}
