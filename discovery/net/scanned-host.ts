import type { ProbeOutcome } from './probe-port.ts'

/** Connections at once to a host that is there; small devices accept few. */
const MAX_PER_HOST = 32
/** Connections at once to a host that has not answered yet. */
const MAX_PER_SILENT_HOST = 4
/** Ports without an answer after which a host counts as absent. */
const MAX_SILENT_PORTS = 24
/** Times that a probe is repeated because this machine was out of descriptors. */
const MAX_REPEATS = 200

/** Ports of one host that a scan still has to probe. */
export class ScannedHost {
  readonly address: string
  readonly #isUp: boolean
  #pending: number[]
  #unanswered: number[] = []
  #inFlight = 0
  #repeats = 0
  #isAbsent = false
  hasAnswered = false

  /** `isUp` is true for a host that is known to be there even if no port answers. */
  constructor(address: string, ports: readonly number[], isUp: boolean) {
    this.address = address
    this.#pending = [...ports]
    this.#isUp = isUp
  }

  get canProbe(): boolean {
    const most = this.hasAnswered || this.#isUp ? MAX_PER_HOST : MAX_PER_SILENT_HOST
    return !this.#isAbsent && this.#pending.length > 0 && this.#inFlight < most
  }

  /** Next port; call it only while `canProbe` is true. */
  take(): number {
    this.#inFlight++
    return this.#pending.shift() as number
  }

  settle(port: number, outcome: ProbeOutcome): void {
    this.#inFlight--
    if (outcome === 'open' || outcome === 'closed') this.hasAnswered = true
    else if (outcome === 'exhausted') this.#repeat(port)
    else if (outcome === 'unreachable' && !this.hasAnswered) this.#isAbsent = true
    else if (outcome === 'filtered') this.#noteSilence(port)
  }

  /** Takes back what was left without an answer; false when there is nothing to ask again. */
  startSecondRound(): boolean {
    if (!this.hasAnswered || this.#unanswered.length === 0) return false
    this.#pending = this.#unanswered
    this.#unanswered = []
    return true
  }

  #repeat(port: number): void {
    this.#repeats++
    if (this.#repeats <= MAX_REPEATS) this.#pending.unshift(port)
  }

  #noteSilence(port: number): void {
    this.#unanswered.push(port)
    if (!this.hasAnswered && !this.#isUp && this.#unanswered.length >= MAX_SILENT_PORTS)
      this.#isAbsent = true
  }
}
