import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

export interface GuardLimits {
  maxPacketBytes: number
  /** Bytes that may come per second on average, and at once. */
  bytesPerSecond: number
  burstBytes: number
}

export type Violation = 'packet_too_large' | 'flood' | 'malformed'

/**
 * Follows the packet borders of an MQTT byte stream without keeping the packets: the fixed header
 * is one byte of type and one to four of remaining length (MQTT 3.1.1, section 2.2.3).
 */
export class PacketMeter {
  #rest = 0
  #lengthBytes = 0
  #length = 0
  #inHeader = false

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

/** A token bucket over bytes. */
export class ByteBucket {
  #tokens: number
  #at: number
  #limits: GuardLimits

  constructor(limits: GuardLimits, nowMs: number) {
    this.#limits = limits
    this.#tokens = limits.burstBytes
    this.#at = nowMs
  }

  /** Milliseconds to wait until `bytes` would be allowed; 0 when they are. */
  take(bytes: number, nowMs: number): number {
    const { bytesPerSecond, burstBytes } = this.#limits
    const refilled = this.#tokens + ((nowMs - this.#at) * bytesPerSecond) / 1000
    this.#tokens = Math.min(burstBytes, refilled) - bytes
    this.#at = nowMs
    return this.#tokens >= 0 ? 0 : (-this.#tokens * 1000) / bytesPerSecond
  }
}

export interface GuardOptions extends GuardLimits {
  nowMs: () => number
  /** Any bytes came: the peer is alive. */
  seen: () => void
  violated: (violation: Violation) => void
}

/**
 * Stands between a socket and the broker, which has no limits of its own: cuts packets that are
 * too large before they are collected, and slows a peer that sends too much.
 */
export const guardSocket = (socket: Socket, options: GuardOptions): Duplex => {
  const meter = new PacketMeter()
  const bucket = new ByteBucket(options, options.nowMs())
  let resumeTimer: NodeJS.Timeout | undefined

  const guarded = new Duplex({
    read: () => {
      if (resumeTimer === undefined) socket.resume()
    },
    write: (chunk, _encoding, done) => {
      if (socket.destroyed) done()
      else socket.write(chunk, () => done())
    },
    final: done => {
      socket.end()
      done()
    },
    destroy: (error, done) => {
      clearTimeout(resumeTimer)
      socket.destroy()
      done(error)
    },
  })

  const slowDown = (waitMs: number): void => {
    socket.pause()
    resumeTimer = setTimeout(() => {
      resumeTimer = undefined
      socket.resume()
    }, waitMs)
  }

  socket.on('data', (chunk: Buffer) => {
    options.seen()
    const violation = meter.feed(chunk, options.maxPacketBytes)
    if (violation !== undefined) {
      options.violated(violation)
      guarded.destroy()
      return
    }
    const waitMs = bucket.take(chunk.length, options.nowMs())
    if (!guarded.push(chunk)) socket.pause()
    if (waitMs > 0) slowDown(waitMs)
  })
  socket.on('end', () => guarded.push(null))
  socket.on('error', () => guarded.destroy())
  socket.on('close', () => guarded.destroy())
  return guarded
}
