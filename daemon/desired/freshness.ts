import { MAX_REPLICAS } from '../../shared/wire/replicas.ts'

/** Maximum number of unanswered births; older ones are forgotten. */
const MAX_OPEN = 16 * MAX_REPLICAS

/**
 * Births that a coordinator has not answered yet. Settings that answer one of them were made after
 * it, whatever their version, so they cannot be a replay.
 */
export class OpenBirths {
  #open: { id: string; replica: string }[] = []

  /** A birth with this id leaves for a coordinator now. */
  add(id: string, replica: string): void {
    this.#open = [...this.#open, { id, replica }].slice(-MAX_OPEN)
  }

  /** True when this answers an open birth; closes that one and all earlier ones of its receiver. */
  take(id: string | undefined): boolean {
    const at = this.#open.findIndex(birth => birth.id === id)
    const answered = this.#open[at]
    if (answered === undefined) return false
    this.#open = this.#open.filter(
      ({ replica }, index) => replica !== answered.replica || index > at,
    )
    return true
  }
}
