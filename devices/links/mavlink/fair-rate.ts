import type { Peer } from './vehicle.ts'

/** Datagrams that are processed in one second for each vehicle; it sends about 100 frames. */
const DATAGRAMS_PER_VEHICLE = 300
/** Datagrams in one second of all senders together that are no vehicle, such as one that is new. */
const DATAGRAMS_OF_STRANGERS = 200

const SECOND_MS = 1000
const STRANGERS = ''

/**
 * Limit of what arrives at one port. Each sender of vehicles has its own share, so that a flood of
 * one sender takes nothing from the others; all unknown senders have one share together.
 */
export class FairRate {
  /** Number of vehicles behind a sender; 0 for an unknown one. */
  readonly #countVehicles: (sender: Peer) => number
  readonly #counts = new Map<string, number>()
  #secondEndMs = 0

  constructor(countVehicles: (sender: Peer) => number) {
    this.#countVehicles = countVehicles
  }

  /** Counts a datagram; false for one beyond the share of its sender. `nowMs` is monotonic. */
  allows(sender: Peer, nowMs: number): boolean {
    if (nowMs >= this.#secondEndMs) {
      this.#secondEndMs = nowMs + SECOND_MS
      this.#counts.clear()
    }
    const vehicles = this.#countVehicles(sender)
    const key = vehicles === 0 ? STRANGERS : `${sender.address} ${sender.port}`
    const count = (this.#counts.get(key) ?? 0) + 1
    this.#counts.set(key, count)
    return count <= (vehicles === 0 ? DATAGRAMS_OF_STRANGERS : vehicles * DATAGRAMS_PER_VEHICLE)
  }
}
