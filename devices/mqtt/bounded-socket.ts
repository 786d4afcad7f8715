import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/** Limits on what a broker may send; messages beyond them are dropped unread. */
export interface MqttLimits {
  maxMessageBytes: number
  /** Average rate; ten seconds of it may come at once, such as the retained messages at a start. */
  messagesPerSecond: number
}

const BURST_SECONDS = 10
/** Packet type PUBLISH (MQTT 3.1.1, section 2.2.1). */
const PUBLISH = 3
/** Largest packet that is no message: acknowledgements of subscriptions are the longest ones. */
const MAX_OTHER_BYTES = 16 * 1024

interface BoundedSocketOptions extends MqttLimits {
  /** Monotonic milliseconds. */
  nowMs: () => number
  onDrop: () => void
}

/**
 * Stands between the socket of a broker and the MQTT client, which has no limits of its own. Messages
 * that are too large or too many are dropped here, before they are collected or parsed; all other
 * packets pass, so that an acknowledgement never waits behind a flood. The client must subscribe with
 * QoS 0: a dropped message is not acknowledged.
 */
export class BoundedSocket extends Duplex {
  readonly #socket: Socket
  readonly #options: BoundedSocketOptions
  #header: number[] = []
  /** Bytes of the current packet that are still to come. */
  #rest = 0
  #isDropped = false
  #tokens: number
  #refilledAt: number

  constructor(socket: Socket, options: BoundedSocketOptions) {
    super()
    this.#socket = socket
    this.#options = options
    this.#tokens = options.messagesPerSecond * BURST_SECONDS
    this.#refilledAt = options.nowMs()
    socket.on('data', chunk => this.#feed(chunk))
    socket.on('end', () => this.push(null))
    socket.on('error', error => this.destroy(error))
    socket.on('close', () => this.destroy())
  }

  override _read(): void {
    this.#socket.resume()
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    if (this.#socket.destroyed) done()
    else this.#socket.write(chunk, () => done())
  }

  override _final(done: () => void): void {
    this.#socket.end()
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy()
    done(error)
  }

  #feed(chunk: Buffer): void {
    for (let at = 0; at < chunk.length && !this.destroyed; )
      if (this.#rest === 0) this.#readHeader(chunk[at++] as number)
      else {
        const end = Math.min(chunk.length, at + this.#rest)
        this.#rest -= end - at
        if (!this.#isDropped) this.#pass(chunk.subarray(at, end))
        at = end
      }
  }

  #pass(bytes: Buffer): void {
    if (!this.push(bytes)) this.#socket.pause()
  }

  /** Collects the fixed header: a byte of type, and one to four of remaining length (2.2.3). */
  #readHeader(byte: number): void {
    this.#header.push(byte)
    if (this.#header.length === 1) return
    if ((byte & 128) !== 0) {
      if (this.#header.length > 4) this.destroy(new Error('the broker sent a malformed packet'))
      return
    }
    const [first = 0, ...length] = this.#header
    this.#rest = length.reduce((sum, part, index) => sum + (part & 127) * 128 ** index, 0)
    this.#header = []
    this.#isDropped = first >> 4 === PUBLISH && !this.#admit()
    if (this.#isDropped) this.#options.onDrop()
    else if (first >> 4 !== PUBLISH && this.#rest > MAX_OTHER_BYTES)
      this.destroy(new Error('the broker sent a packet that is too large'))
    else this.#pass(Buffer.from([first, ...length]))
  }

  #admit(): boolean {
    const { maxMessageBytes, messagesPerSecond, nowMs } = this.#options
    const now = nowMs()
    const refilled = this.#tokens + ((now - this.#refilledAt) * messagesPerSecond) / 1000
    this.#tokens = Math.min(messagesPerSecond * BURST_SECONDS, refilled)
    this.#refilledAt = now
    if (this.#rest > maxMessageBytes || this.#tokens < 1) return false
    this.#tokens--
    return true
  }
}
