import type { Clock } from '../inference/clock.ts'
import type { HelperChild, SpawnHelper } from './helper-child.ts'
import type { ParsedFrame } from './parse-frame.ts'
import type { HelperOrder } from './protocol.ts'

interface ProcessListener {
  onReady: () => void
  onFrame: (frame: Exclude<ParsedFrame, { type: 'ready' }>) => void
  /** Runs once, unless the owner ended the process. `how` describes how it ended. */
  onLost: (how: string) => void
}

const START_MS = 30_000

/** One run of a helper process, from start to end. */
export class HelperProcess {
  readonly #listener: ProcessListener
  readonly #stopTimer: () => void
  #child: HelperChild | undefined
  #isReady = false
  #isOver = false

  /** @throws Error when the machine cannot start a process */
  constructor(spawn: SpawnHelper, clock: Clock, listener: ProcessListener) {
    this.#listener = listener
    this.#child = spawn({
      onFrame: frame => this.#take(frame),
      onEnd: how => this.#lose(how),
    })
    this.#stopTimer = clock.callAfter(START_MS, () => this.#lose('did not start in time'))
  }

  get isReady(): boolean {
    return this.#isReady
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  send(order: HelperOrder): void {
    this.#child?.send(order)
  }

  /** Kills the process; the listener is not called afterwards. */
  end(): void {
    this.#isOver = true
    this.#stopTimer()
    this.#child?.kill()
    this.#child = undefined
  }

  #take(frame: ParsedFrame): void {
    if (this.#isOver) return
    if (frame.type !== 'ready') {
      this.#listener.onFrame(frame)
      return
    }
    this.#stopTimer()
    this.#isReady = true
    this.#listener.onReady()
  }

  #lose(how: string): void {
    if (this.#isOver) return
    this.end()
    this.#listener.onLost(how)
  }
}
