import { type Fault, isSilence } from '../../fleet/routing/health/fault.ts'
import type { FailedRequest, SentRequest } from './lane.ts'

/** Cells that get to see one request before it waits. */
const MAX_TRIES = 3
/** Cells that refuse it in all, while it waits; only others that fill them at once explain more. */
const MAX_REFUSALS = 50
/** Cells that may fail on it while their engines live on. */
const MAX_FAILURES = 5
/** Engines that may die with it: a request that kills engines must not kill them all. */
const MAX_KILLS = 2
/** Time after a request within which the loss of its engine counts as caused by it, milliseconds. */
const KILL_MS = 5000

interface EndedRequest extends SentRequest {
  endedAtMs: number
}

/** The engines that had one request and did not answer it; whether another one may have it. */
export class Tries {
  readonly #nowMs: () => number
  /** Cells that had it since it last waited in line, and those on which it has failed. */
  #tried: ReadonlySet<string> = NONE
  #failedOn: ReadonlySet<string> = NONE
  #failures: readonly (FailedRequest & EndedRequest)[] = NO_REQUESTS
  #refusals: readonly EndedRequest[] = NO_REQUESTS
  /** True once the client has waited for an engine that was silent. */
  hasMetSilence = false

  /** @param nowMs monotonic milliseconds */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Cells that are not asked before the request has waited in line. */
  get tried(): ReadonlySet<string> {
    return this.#tried
  }

  /** Cells that are not asked again. */
  get failedOn(): ReadonlySet<string> {
    return this.#failedOn
  }

  /** False for a request that must wait first. */
  get mayGoOnAtOnce(): boolean {
    return this.#tried.size - this.#failedOn.size < MAX_TRIES && this.mayGoOn
  }

  /** An engine that is lost while it has this request, or soon after, counts as killed by it. */
  get mayGoOn(): boolean {
    if (this.#failures.length >= MAX_FAILURES || this.#refusals.length >= MAX_REFUSALS) return false
    // an engine that was only silent had not died
    const kills = this.#failures.filter(({ fault }) => fault !== 'no_first_byte')
    return countKilled(kills) + countKilled(this.#refusals) < MAX_KILLS
  }

  noteRefusal(sent: SentRequest): void {
    this.#tried = new Set([...this.#tried, sent.engine.cellId])
    this.#refusals = [...this.#refusals, { ...sent, endedAtMs: this.#nowMs() }]
  }

  noteFailure(sent: SentRequest, fault: Fault): void {
    const { cellId } = sent.engine
    this.#tried = new Set([...this.#tried, cellId])
    this.#failedOn = new Set([...this.#failedOn, cellId])
    this.#failures = [...this.#failures, { ...sent, endedAtMs: this.#nowMs(), fault }]
    this.hasMetSilence ||= isSilence(fault)
  }

  /** Allows cells that refused the request to have it again, after the wait in line. */
  allowRefused(): void {
    this.#tried = this.#failedOn
  }

  /** Returns the failures so far, and forgets them. */
  takeFailures(): readonly FailedRequest[] {
    const failures = this.#failures
    this.#failures = NO_REQUESTS
    return failures
  }
}

const NONE: ReadonlySet<string> = new Set()
const NO_REQUESTS: readonly never[] = []

/**
 * Counts the losses of engines that had the request. An engine that was asked again before its loss
 * was reported is lost once.
 */
const countKilled = (requests: readonly EndedRequest[]): number => {
  const killed = requests.filter(({ engine, sentAtMs, endedAtMs }) => {
    const lostAtMs = engine.lostAtMs ?? 0
    return lostAtMs > sentAtMs && lostAtMs < endedAtMs + KILL_MS
  })
  const isFirst = ({ engine, lostBeforeMs }: SentRequest, index: number): boolean =>
    killed.findIndex(other => other.engine === engine && other.lostBeforeMs === lostBeforeMs) ===
    index
  return killed.filter(isFirst).length
}
