import { RESOLUTIONS } from './resolutions.ts'
import type { SeriesStore } from './series-store.ts'

const CELLS_PRUNED_PER_TICK = 4
/** Ticks from the last cell of a pruning to the first one of the next. */
const TICKS_BETWEEN_PRUNINGS = 60

/** Deletes rows whose retention has ended, a few cells at each tick. */
export class SeriesPruner {
  readonly #store: Pick<SeriesStore, 'prune'>
  readonly #now: () => number
  /** Last cell that was pruned. */
  #after = ''
  #ticksToRest = 0

  constructor(store: Pick<SeriesStore, 'prune'>, now: () => number) {
    this.#store = store
    this.#now = now
  }

  /** Prunes the next cells, and rests after the last one: rows become old slowly. */
  async tick(): Promise<void> {
    if (this.#ticksToRest > 0) return void this.#ticksToRest--
    const limits = Object.values(RESOLUTIONS).map(({ seconds, keepSeconds, rowSeconds }) => ({
      resolutionSeconds: seconds,
      before: this.#now() - (keepSeconds + rowSeconds) * 1000,
    }))
    try {
      const last = await this.#store.prune(this.#after, CELLS_PRUNED_PER_TICK, limits)
      if (last === undefined) this.#ticksToRest = TICKS_BETWEEN_PRUNINGS
      this.#after = last ?? ''
    } catch {
      // the next tick tries the same cells again
    }
  }
}
