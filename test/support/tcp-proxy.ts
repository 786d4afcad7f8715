import { once } from 'node:events'
import { connect, createServer, type ListenOptions, type Server, type Socket } from 'node:net'
import type { Test } from 'tap'

type Mode = 'pass' | 'cut' | 'mute' | 'blackhole'

interface Link {
  client: Socket
  target: Socket
  /** True once the server has what it gets, and its answer is to be lost. */
  isDoomed?: boolean
}

/** A network between a program and a server of its own, on loopback: slow, cut, or a black hole. */
export class TcpProxy {
  readonly #server: Server
  readonly #target: ListenOptions
  readonly #links = new Set<Link>()
  #mode: Mode = 'pass'
  #delayMs = 0
  #losesAnswerTo: string | undefined
  /** Chunks that are on their way while the proxy delays. */
  readonly #timers = new Set<NodeJS.Timeout>()

  private constructor(target: ListenOptions) {
    this.#target = target
    this.#server = createServer({ noDelay: true }, client => this.#accept(client))
  }

  /** A proxy in front of a port or of a unix socket (`path`); it is closed after the test. */
  static async open(t: Pick<Test, 'teardown'>, target: ListenOptions): Promise<TcpProxy> {
    const proxy = new TcpProxy(target)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    t.teardown(() => proxy.close())
    return proxy
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.#links.size
  }

  /** Every chunk arrives so much later, in both directions. */
  delay(milliseconds: number): void {
    this.#delayMs = milliseconds
  }

  /** Ends every connection and refuses new ones. */
  cut(): void {
    this.#mode = 'cut'
    this.#drop()
  }

  /** Nothing arrives any more, and nobody is told: as when packets are dropped. */
  blackhole(): void {
    this.#mode = 'blackhole'
  }

  /** What the program sends arrives, and no answer comes back. */
  muteServer(): void {
    this.#mode = 'mute'
  }

  /** Ends the connection that sends this text next, once the server has done what it asks. */
  loseAnswerTo(text: string): void {
    this.#losesAnswerTo = text
  }

  get isBlackhole(): boolean {
    return this.#mode === 'blackhole'
  }

  /** Passes everything on again; connections from a black hole stay dead, as after a fail-over. */
  heal(): void {
    if (this.#mode !== 'pass') this.#drop()
    this.#mode = 'pass'
  }

  async close(): Promise<void> {
    this.#drop()
    const closed = once(this.#server, 'close')
    this.#server.close()
    await closed
  }

  #drop(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    for (const link of [...this.#links]) this.#end(link)
  }

  #accept(client: Socket): void {
    if (this.#mode === 'cut') {
      client.resetAndDestroy()
      return
    }
    const link = { client, target: connect({ ...this.#target, noDelay: true } as never) }
    this.#links.add(link)
    this.#join(link, client, link.target)
    this.#join(link, link.target, client)
  }

  #join(link: Link, from: Socket, to: Socket): void {
    from.on('data', chunk => {
      if (this.#isLost(link, from, chunk)) return this.#end(link)
      if (this.#mode !== 'mute' || from === link.client) this.#pass(() => to.write(chunk))
    })
    from.on('error', () => {})
    from.on('close', () => {
      this.#pass(() => {
        to.destroy()
        this.#links.delete(link)
      })
    })
  }

  #isLost(link: Link, from: Socket, chunk: Buffer): boolean {
    if (from === link.target) return link.isDoomed === true
    if (this.#losesAnswerTo === undefined || !chunk.includes(this.#losesAnswerTo)) return false
    this.#losesAnswerTo = undefined
    link.isDoomed = true
    return false
  }

  #end(link: Link): void {
    link.client.destroy()
    link.target.destroy()
    this.#links.delete(link)
  }

  /**
   * Passes a chunk on in order: timers of one length are called in the order in which they were
   * set.
   */
  #pass(act: () => void): void {
    if (this.#mode === 'blackhole') return
    if (this.#delayMs === 0) act()
    else this.#passLater(act)
  }

  #passLater(act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      if (this.#mode !== 'blackhole') act()
    }, this.#delayMs)
    this.#timers.add(timer)
  }
}
