/** Maximum number of unanswered births; older ones are forgotten. */
const MAX_OPEN = 16

/**
 * Births that the coordinator has not answered yet. Settings that answer one of them were made
 * after it, whatever their version, so they cannot be a replay.
 */
export class OpenBirths {
  #ids: string[] = []

  /** A birth with this id leaves now. */
  add(id: string): void {
    this.#ids = [...this.#ids, id].slice(-MAX_OPEN)
  }

  /** True when this answers an open birth; closes that one and all earlier ones. */
  take(id: string | undefined): boolean {
    const at = id === undefined ? -1 : this.#ids.indexOf(id)
    if (at < 0) return false
    this.#ids = this.#ids.slice(at + 1)
    return true
  }
}
