import { waitUntilAborted } from '../../shared/wait.ts'
import type { ControlSession } from './control-session.ts'
import { Nudge } from './nudge.ts'

/** The open sessions of the control plane, and the right of one of them to send the backlog. */
export class ControlSessions {
  /** Open sessions; their greetings may still be pending. */
  #open: ControlSession[] = []
  /** Sessions after their greetings, the longest connected first. */
  #ready: ControlSession[] = []
  /** Session that sends the backlog; another may only begin once this one has let go of it. */
  #drainer: ControlSession | undefined
  readonly #drainerLeft = new Nudge()

  get all(): readonly ControlSession[] {
    return this.#open
  }

  /** Sessions to coordinators that have the birth and the state of this cell. */
  get ready(): readonly ControlSession[] {
    return this.#ready
  }

  /** Session to the coordinator that alone receives acks and late samples. */
  get home(): ControlSession | undefined {
    return this.#ready[0] ?? this.#open[0]
  }

  find(replica: string): ControlSession | undefined {
    return this.#open.find(session => session.replica === replica)
  }

  add(session: ControlSession): void {
    this.#open.push(session)
  }

  markReady(session: ControlSession): void {
    this.#ready.push(session)
  }

  remove(session: ControlSession): void {
    this.#open = this.#open.filter(one => one !== session)
    this.#ready = this.#ready.filter(one => one !== session)
  }

  /**
   * Resolves with true once the session is home and no other one sends the backlog, and with false
   * when the signal aborts before that.
   */
  async takeBacklog(session: ControlSession, signal: AbortSignal): Promise<boolean> {
    const isItsTurn = () => this.#ready[0] === session && this.#drainer === undefined
    while (!signal.aborted && !isItsTurn())
      await this.#drainerLeft.wait(waitUntilAborted, 0, signal)
    if (signal.aborted) return false
    this.#drainer = session
    return true
  }

  /** True when the session sends the backlog. */
  hasBacklog(session: ControlSession): boolean {
    return this.#drainer === session
  }

  /** Lets the next home send the backlog; every batch must be released before. */
  passBacklog(): void {
    this.#drainer = undefined
    this.#drainerLeft.ring()
  }
}
