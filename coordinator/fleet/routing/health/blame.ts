/** Time for which failures of a key are remembered. */
const WINDOW_MS = 60_000
/** Other cells on which a key's requests failed too, from which on its requests are suspect. */
const SUSPECT_CELLS = 2
/** Keys that are remembered; the one without failures for longest is forgotten first. */
const MAX_KEYS = 1000

interface Failures {
  cells: Set<string>
  sinceMs: number
}

/**
 * Decides whether a failed request speaks against the cell or against the request. A request that
 * another cell has answered since speaks against the cell that failed, and nothing is asked here.
 * One that no cell has answered may be at fault itself: once requests of its key fail on three cells
 * within a minute, they count against none of them any more.
 */
export class Blame {
  readonly #keys = new Map<string, Failures>()

  /** Notes a failure that no other cell has made good; returns true when it counts against the cell. */
  countsAgainstCell(keyId: string, cellId: string, nowMs: number): boolean {
    const failures = this.#failuresOf(keyId, nowMs)
    failures.cells.add(cellId)
    return failures.cells.size <= SUSPECT_CELLS
  }

  #failuresOf(keyId: string, nowMs: number): Failures {
    const known = this.#keys.get(keyId)
    const failures =
      known !== undefined && nowMs - known.sinceMs < WINDOW_MS
        ? known
        : { cells: new Set<string>(), sinceMs: nowMs }
    this.#keys.delete(keyId)
    this.#keys.set(keyId, failures)
    if (this.#keys.size > MAX_KEYS) this.#keys.delete(this.#keys.keys().next().value as string)
    return failures
  }
}
