/** Longer than a cell waits before it connects again (1 min), with what its death takes to show. */
const UNSEEN_MS = 90_000

/** Finds cells that no coordinator has seen for long, such as since all of them were restarted. */
export class UnseenCells {
  readonly #nowMs: () => number
  #sinceMs = new Map<string, number>()

  /** @param nowMs Monotonic milliseconds. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Takes the cells that are unseen now and returns those that have been so for too long. */
  note(cellIds: readonly string[]): string[] {
    const nowMs = this.#nowMs()
    const before = this.#sinceMs
    this.#sinceMs = new Map(cellIds.map(cellId => [cellId, before.get(cellId) ?? nowMs]))
    return cellIds.filter(cellId => nowMs - (this.#sinceMs.get(cellId) ?? nowMs) >= UNSEEN_MS)
  }
}
