import type { Clock } from './clock.ts'
import type { EngineChild, SpawnEngine } from './engine-child.ts'
import { Heartbeat } from './heartbeat.ts'
import { KILL_MS } from './leftovers.ts'
import type {
  EngineReply,
  FailedReply,
  LoadOrder,
  Order,
  ReadyReply,
  StepCounts,
  StepReply,
} from './protocol.ts'

interface EngineProcessOptions {
  load: LoadOrder
  loadTimeoutSeconds: number
  watchdogSeconds: number
}

interface ProcessListener {
  /** Receives the loaded share of the weights. */
  onProgress: (percent: number) => void
  onReady: (reply: ReadyReply) => void
  /** The model cannot be loaded, and not because others use the memory. */
  onRefused: (reply: FailedReply) => void
  onStep: (reply: StepReply) => void
  /**
   * Runs when the process has ended, or cannot be killed. `why` continues a sentence that begins
   * with `the engine`.
   */
  onEnd: (why: string) => void
  /** Runs when the process has ended, also after `stop`. */
  onGone: () => void
}

/** One run of an engine child, with a deadline for loading and a watchdog while it is busy. */
export class EngineProcess {
  counts: StepCounts = { steps: 0, width: 0, active: 0, tokens: 0 }
  readonly #options: EngineProcessOptions
  readonly #clock: Clock
  readonly #listener: ProcessListener
  readonly #child: EngineChild
  readonly #heartbeat: Heartbeat
  #jobs = 0
  #heardAt = 0
  /** Reason why the daemon ended the process. */
  #ending: string | undefined
  #stopped = false
  #callOff = (): void => {}

  constructor(
    options: EngineProcessOptions,
    { clock, spawn }: { clock: Clock; spawn: SpawnEngine },
    listener: ProcessListener,
  ) {
    this.#options = options
    this.#clock = clock
    this.#listener = listener
    this.#heartbeat = new Heartbeat(clock, seconds => this.#end(`did not answer for ${seconds} s`))
    this.#child = spawn(options.load.slots, {
      onReply: reply => this.#reply(reply),
      onEnd: how => this.#onEnded(how),
    })
    const seconds = options.loadTimeoutSeconds
    this.#callOff = clock.callAfter(seconds * 1000, () =>
      this.#end(`was not ready within ${seconds} s`),
    )
    this.#child.send(options.load)
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  send(order: Order): void {
    if (order.type !== 'cancel' && this.#jobs++ === 0) {
      this.#heardAt = this.#clock.now()
      this.#heartbeat.start()
    }
    this.#child.send(order)
  }

  /** One of the orders is done. */
  finish(): void {
    if (--this.#jobs === 0) this.#heartbeat.stop()
  }

  /** Ends the process; afterwards the listener is only notified that it has ended. */
  stop(): void {
    this.#stopped = true
    this.#callOff()
    this.#heartbeat.stop()
    this.#child.kill()
  }

  #reply(reply: EngineReply): void {
    if (this.#stopped || this.#ending !== undefined) return
    if (reply.type === 'beat') {
      this.#heartbeat.noteBeat()
      return
    }
    this.#heardAt = this.#clock.now()
    if (reply.type === 'progress') this.#listener.onProgress(reply.percent)
    else if (reply.type === 'ready') this.#ready(reply)
    else if (reply.type === 'step') {
      this.counts = reply.counts
      this.#listener.onStep(reply)
    } else if (reply.type === 'measured') this.#end('measured instead of loading')
    else if (reply.transient) this.#end(`could not be loaded: ${reply.reason}`)
    else {
      this.stop()
      this.#listener.onRefused(reply)
    }
  }

  #ready(reply: ReadyReply): void {
    this.#callOff()
    this.#watch()
    this.#listener.onReady(reply)
  }

  /** Looks again and again whether it still makes steps while it is busy. */
  #watch(): void {
    const limitMs = this.#options.watchdogSeconds * 1000
    const quietMs = this.#jobs === 0 ? 0 : this.#clock.now() - this.#heardAt
    if (quietMs >= limitMs) this.#end(`made no step for ${this.#options.watchdogSeconds} s`)
    else this.#callOff = this.#clock.callAfter(limitMs - quietMs, () => this.#watch())
  }

  #end(why: string): void {
    this.#callOff()
    this.#heartbeat.stop()
    this.#ending = why
    this.#callOff = this.#clock.callAfter(KILL_MS, () =>
      this.#finish(`${why}, and cannot be ended`),
    )
    this.#child.kill()
  }

  #onEnded(how: string): void {
    this.#callOff()
    this.#heartbeat.stop()
    this.#listener.onGone()
    this.#finish(this.#ending ?? how)
  }

  #finish(why: string): void {
    if (this.#stopped) return
    this.#stopped = true
    this.#listener.onEnd(why)
  }
}
