import { randomBytes } from 'node:crypto'
import { type Runtime, stopTimer, type Timer } from '../../../shared/runtime.ts'

interface PingsOptions {
  everyMs: number
  runtime: Pick<Runtime, 'nowMs' | 'setInterval' | 'setImmediate'>
  /** @param payload 8 random bytes, which the peer cannot predict */
  send: (payload: Buffer) => void
  onMeasured: (milliseconds: number) => void
  /**
   * Runs whenever the next ping is due and the last one is not answered yet.
   * @param silentMs time without an answer, in whole intervals
   */
  onLate: (silentMs: number) => void
}

/** Pings a peer at an interval, beginning at once, and measures the round trip. */
export class Pings {
  readonly #options: PingsOptions
  readonly #timer: Timer
  /** The unanswered ping, the monotonic time at which it was sent, and the beats since then. */
  #sent: { payload: Buffer; atMs: number; beats: number } | undefined

  constructor(options: PingsOptions) {
    this.#options = options
    this.#timer = options.runtime.setInterval(() => this.#beat(), options.everyMs)
    this.#send()
  }

  receiveAnswer(payload: Buffer): void {
    if (this.#sent === undefined || !this.#sent.payload.equals(payload)) return
    this.#options.onMeasured(this.#options.runtime.nowMs() - this.#sent.atMs)
    this.#sent = undefined
  }

  stop(): void {
    stopTimer(this.#timer)
    this.#sent = undefined
  }

  #beat(): void {
    const sent = this.#sent
    if (sent === undefined) this.#send()
    // timers run before sockets: after a stall the answer may have arrived without being read yet
    else this.#options.runtime.setImmediate(() => this.#judge(sent))
  }

  #judge(sent: { beats: number }): void {
    const { everyMs, onLate } = this.#options
    if (this.#sent === sent) onLate(++sent.beats * everyMs)
  }

  #send(): void {
    this.#sent = { payload: randomBytes(8), atMs: this.#options.runtime.nowMs(), beats: 0 }
    this.#options.send(this.#sent.payload)
  }
}
