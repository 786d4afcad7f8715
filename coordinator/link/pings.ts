import { randomBytes } from 'node:crypto'

export interface PingsOptions {
  everyMs: number
  /** @param payload 8 bytes that nobody can know before */
  send: (payload: Buffer) => void
  measured: (milliseconds: number) => void
  /** The answer to one has not come when the next is due, nor waits to be read. */
  late: (reason: Error) => void
}

/** Measures a link again and again, from when it is made. */
export class Pings {
  readonly #options: PingsOptions
  readonly #timer: NodeJS.Timeout
  /** The one that is under way, and when it was sent. */
  #sent: { payload: Buffer; atMs: number } | undefined

  constructor(options: PingsOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#beat(), options.everyMs)
    this.#send()
  }

  answered(payload: Buffer): void {
    if (this.#sent === undefined || !this.#sent.payload.equals(payload)) return
    this.#options.measured(performance.now() - this.#sent.atMs)
    this.#sent = undefined
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#sent = undefined
  }

  #beat(): void {
    const sent = this.#sent
    if (sent === undefined) this.#send()
    // timers come before sockets: after a standstill the answer may be there and not be read yet
    else setImmediate(() => this.#judge(sent))
  }

  #judge(sent: object): void {
    const { everyMs, late } = this.#options
    if (this.#sent === sent) late(new Error(`no answer to a ping within ${everyMs} ms`))
  }

  #send(): void {
    this.#sent = { payload: randomBytes(8), atMs: performance.now() }
    this.#options.send(this.#sent.payload)
  }
}
