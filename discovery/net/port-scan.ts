import { wait } from '../../shared/wait.ts'
import { Wakeup } from '../../shared/wakeup.ts'
import { type PortState, type ProbeOptions, type ProbeOutcome, probePort } from './probe-port.ts'
import { ProbeWindow } from './probe-window.ts'
import { ScannedHost } from './scanned-host.ts'

export interface PortResult {
  address: string
  port: number
  state: PortState
}

interface PortScanOptions extends Omit<ProbeOptions, 'timeoutMs'> {
  /** True for hosts that are known to be up, by their answer on the link. */
  isUp(address: string): boolean
  /** Wait for an answer in the first round. */
  timeoutMs?: number
  /** Replaces the TCP probe in tests. */
  probe?: typeof probePort
}

const TIMEOUT_MS = 300
/** Factor of the second round, which asks again what an answering host left unanswered. */
const PATIENCE = 3
/** Results that nobody has read yet; more stop the scan for a while. */
const MAX_UNREAD = 1024
const EXHAUSTED_WAIT_MS = 50

/** A TCP connect scan of hosts by ports, in two rounds. It ends at once when its signal aborts. */
export class PortScan {
  readonly window = new ProbeWindow()
  readonly #hosts: readonly ScannedHost[]
  readonly #options: PortScanOptions
  readonly #news = new Wakeup()
  readonly #ended = new AbortController()
  readonly #signal: AbortSignal
  #ready: ScannedHost[] = []
  #unread: PortResult[] = []
  #timeoutMs: number
  /** True after a probe for which this machine had no descriptor, until another one ends. */
  #isStarved = false
  #fault: Error | undefined

  constructor(addresses: readonly string[], ports: readonly number[], options: PortScanOptions) {
    this.#hosts = addresses.map(each => new ScannedHost(each, ports, options.isUp(each)))
    this.#options = options
    this.#signal = AbortSignal.any([options.signal, this.#ended.signal])
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS
  }

  /** Number of hosts that answered with an open or a closed port. */
  get answering(): number {
    return this.#hosts.filter(({ hasAnswered }) => hasAnswered).length
  }

  /** @throws ShoalError forbidden when an address is outside the scope */
  async *run(): AsyncGenerator<PortResult> {
    try {
      yield* this.#runRound(this.#hosts)
      this.#timeoutMs *= PATIENCE
      yield* this.#runRound(this.#hosts.filter(host => host.startSecondRound()))
    } finally {
      this.#ended.abort()
    }
  }

  async *#runRound(hosts: readonly ScannedHost[]): AsyncGenerator<PortResult> {
    this.#ready = hosts.filter(host => host.canProbe)
    while (!this.#signal.aborted) {
      this.#launch()
      yield* this.#unread.splice(0)
      if (this.#fault !== undefined) throw this.#fault
      if (this.#unread.length > 0) continue
      if (this.window.inFlight > 0) await this.#news.wait()
      else if (this.#ready.length === 0) return
      else if (this.#isStarved) await this.#recover()
    }
  }

  #launch(): void {
    while (this.window.hasRoom && this.#unread.length < MAX_UNREAD && !this.#isStarved) {
      const host = this.#ready.shift()
      if (host === undefined) return
      if (!host.canProbe) continue
      const port = host.take()
      if (host.canProbe) this.#ready.push(host)
      void this.#probe(host, port)
    }
  }

  async #recover(): Promise<void> {
    await wait(EXHAUSTED_WAIT_MS, this.#signal)
    this.#isStarved = false
  }

  async #probe(host: ScannedHost, port: number): Promise<void> {
    const { scope, probe = probePort } = this.#options
    this.window.enter()
    try {
      const options = { scope, signal: this.#signal, timeoutMs: this.#timeoutMs }
      this.#settle(host, port, await probe(host.address, port, options))
    } catch (error) {
      this.#fault = error as Error
    }
    this.window.leave()
    this.#news.wake()
  }

  #settle(host: ScannedHost, port: number, outcome: ProbeOutcome): void {
    const couldProbe = host.canProbe
    host.settle(port, outcome)
    if (!couldProbe && host.canProbe) this.#ready.push(host)
    this.#isStarved = outcome === 'exhausted'
    if (outcome === 'exhausted' || (outcome === 'filtered' && host.hasAnswered))
      this.window.shrink()
    else if (outcome === 'open' || outcome === 'closed') this.window.grow()
    if (outcome !== 'exhausted' && outcome !== 'aborted')
      this.#unread.push({ address: host.address, port, state: outcome })
  }
}
