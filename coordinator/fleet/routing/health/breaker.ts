import { backOffMs } from '../../../../shared/back-off.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'

export const BREAKER_STATES = ['closed', 'open', 'half_open'] as const
export type BreakerState = (typeof BREAKER_STATES)[number]

/** Weight of a new outcome in the share of failures: the last four decide most of it. */
const WEIGHT = 1 / 4
/** Share of failures above which the breaker opens: three in a row, or half of many. */
const OPEN_ABOVE = 0.5
/** Share after a probe that succeeded: the next failure opens the breaker again. */
const AFTER_PROBE = 0.45
/** Share below which the engine counts as recovered, and its next opening is short again. */
const RECOVERED_BELOW = 0.1
/** Pauses with a jitter of a quarter, so that coordinators do not probe a cell together. */
const PAUSE = { firstMs: 1000, maxMs: 60_000, jitter: [0.75, 1.25] } as const
/** Time that a probe has before another request is let through, as long answers are probes too. */
const PROBE_MS = 30_000

/**
 * Circuit breaker of one engine. Closed, it lets every request through. It opens when requests
 * fail; after a pause, which doubles with every opening, it is half open and lets one request
 * through as a probe, whose outcome closes or opens it. Times are monotonic milliseconds.
 */
export class Breaker {
  readonly #random: () => number
  #failing = 0
  /** Openings since the engine last counted as recovered. */
  #openings = 0
  #openedAtMs = 0
  /** Time before which no request is let through; 0 while closed. */
  #blockedUntilMs = 0
  #isProbed = false

  constructor(random: () => number = systemRuntime.random) {
    this.#random = random
  }

  /** Share of recent requests that failed, 0 to 1. */
  get failing(): number {
    return this.#failing
  }

  get isClosed(): boolean {
    return this.#blockedUntilMs === 0
  }

  /** Time until the next probe; 0 when a request would be let through now. */
  pauseMs(nowMs: number): number {
    return Math.max(0, this.#blockedUntilMs - nowMs)
  }

  state(nowMs: number): BreakerState {
    if (this.isClosed) return 'closed'
    return this.#isProbed || !this.blocks(nowMs) ? 'half_open' : 'open'
  }

  /** True when no request may be sent now. */
  blocks(nowMs: number): boolean {
    return this.#blockedUntilMs > nowMs
  }

  /** Notes that a request is sent: the one that a half-open breaker lets through is the probe. */
  noteSent(nowMs: number): void {
    if (this.isClosed) return
    this.#isProbed = true
    this.#blockedUntilMs = nowMs + PROBE_MS
  }

  /** True for a request that was sent after the breaker opened. */
  isProbe(sentAtMs: number): boolean {
    return !this.isClosed && sentAtMs >= this.#openedAtMs
  }

  noteServed(sentAtMs: number): void {
    if (this.isProbe(sentAtMs)) this.#close()
    else if (this.isClosed && this.#failing > 0) this.#failing *= 1 - WEIGHT
    if (this.#failing < RECOVERED_BELOW) this.#openings = 0
  }

  /**
   * A failure of a request that was sent before the breaker opened changes nothing any more. One
   * silence opens the breaker, because each costs a client half a minute, and a probe nothing.
   */
  noteFault(sentAtMs: number, nowMs: number, isSilence = false): void {
    const isProbe = this.isProbe(sentAtMs)
    if (!this.isClosed && !isProbe) return
    this.#failing += WEIGHT * (1 - this.#failing)
    if (isProbe || isSilence || this.#failing > OPEN_ABOVE) this.#open(nowMs)
  }

  /** Notes the end of a request that tells nothing: it was cancelled, or refused for want of room. */
  noteNothing(sentAtMs: number, nowMs: number): void {
    if (!this.isProbe(sentAtMs)) return
    this.#isProbed = false
    this.#blockedUntilMs = nowMs
  }

  #close(): void {
    this.#isProbed = false
    this.#blockedUntilMs = 0
    this.#failing = AFTER_PROBE
  }

  #open(nowMs: number): void {
    const pauseMs = backOffMs(PAUSE, this.#openings++, this.#random)
    this.#isProbed = false
    this.#openedAtMs = nowMs
    this.#blockedUntilMs = nowMs + pauseMs
  }
}
