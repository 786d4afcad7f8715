import type { Server, ServerResponse } from 'node:http'
import { type Runtime, sleep } from '../../../shared/runtime.ts'
import { putInFront } from './put-in-front.ts'

const LOOK_MS = 20

/**
 * Time that a connection stays open after an answer which did not announce its end: the client's next
 * request may be on its way.
 */
const KEPT_MS = 1000

/** Longest wait for the begin of an answer; one that waits for a person would keep the process. */
const UNANSWERED_MS = 5000

/** The answers under way, so that a stop costs no client one. */
export class RunningAnswers {
  #phase: 'serving' | 'leaving' | 'draining' = 'serving'
  #count = 0
  readonly #open = new Set<ServerResponse>()
  #keptUntilMs = 0
  #server: Server | undefined
  readonly #runtime: Pick<Runtime, 'nowMs' | 'setTimeout'>

  constructor(runtime: Pick<Runtime, 'nowMs' | 'setTimeout'>) {
    this.#runtime = runtime
  }

  /** Counts an answer that may take long, until `remove`. */
  add = (): void => {
    this.#count++
  }

  remove = (): void => {
    this.#count--
  }

  /** True from the begin of the stop: who can choose should go elsewhere. */
  isLeaving = (): boolean => this.#phase !== 'serving'

  /** True when new work is refused. */
  isDraining = (): boolean => this.#phase === 'draining'

  /** Follows every answer of the server; each that begins after `leave` closes its connection. */
  follow(server: Server): void {
    this.#server = server
    putInFront(server, behind => (request, response) => {
      if (this.isLeaving()) closeAfter(response)
      this.#open.add(response)
      response.on('close', () => {
        this.#open.delete(response)
        if (this.#phase === 'leaving' && !response.hasHeader('connection'))
          this.#keptUntilMs = this.#runtime.nowMs() + KEPT_MS
      })
      behind(request, response)
    })
  }

  /** Everything is still served, and each client is told to connect again. */
  leave(): void {
    this.#phase = 'leaving'
    if (this.#server !== undefined) this.#server.keepAliveTimeout = KEPT_MS
    for (const response of this.#open) closeAfter(response)
  }

  /** Refuses new work from now on. */
  drain(): void {
    this.#phase = 'draining'
  }

  /**
   * Resolves when long answers have ended and short ones have begun, and, unless new work is refused,
   * when no client can still use its connection.
   */
  async waitUntilAnswered(): Promise<void> {
    const untilMs = this.#runtime.nowMs() + UNANSWERED_MS
    const hasUnanswered = (): boolean =>
      this.#runtime.nowMs() < untilMs && [...this.#open].some(({ headersSent }) => !headersSent)
    const hasKept = (): boolean => !this.isDraining() && this.#runtime.nowMs() < this.#keptUntilMs
    while (this.#count > 0 || hasUnanswered() || hasKept())
      await sleep(this.#runtime, LOOK_MS, { ref: false })
  }
}

/** Announces in the answer that its connection ends, so that the next request goes elsewhere. */
const closeAfter = (response: ServerResponse): void => {
  if (!response.headersSent) response.setHeader('connection', 'close')
}
