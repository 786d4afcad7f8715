import { type EngagedStop, MAX_STOPS, type ReleasedStop } from '../../shared/wire/estop.ts'
import type { KeptStop, LatchState } from './latch-file.ts'
import { createLocalStop } from './local-stop.ts'

/** Author of stops that the daemon engages itself. */
export const DAEMON = 'shoald'

/** The stops of a cell in memory, each list bounded so that the file and a report stay small. */
export class StopTable {
  /** Version of the newest document that was applied; 0 before the first. */
  version = 0
  readonly #now: () => number
  readonly #stops = new Map<string, KeptStop>()
  readonly #released = new Map<string, ReleasedStop>()
  readonly #ended = new Set<string>()

  constructor(now: () => number) {
    this.#now = now
  }

  get(id: string): KeptStop | undefined {
    return this.#stops.get(id)
  }

  list(): KeptStop[] {
    return [...this.#stops.values()]
  }

  /** Stops released on the machine that no document has named yet. */
  listReleased(): ReleasedStop[] {
    return [...this.#released.values()]
  }

  load({ version, stops, released, ended }: LatchState): void {
    this.version = version
    for (const stop of stops) this.#stops.set(stop.estop_id, stop)
    for (const one of released) this.#released.set(one.estop_id, one)
    for (const id of ended) this.#ended.add(id)
  }

  toState(): LatchState {
    const [stops, released] = [this.list(), this.listReleased()]
    return { version: this.version, stops, released, ended: [...this.#ended] }
  }

  /**
   * True for a stop of a document that is not in force and was never released here: a coordinator
   * that has not heard of a release yet still names its stop.
   */
  isNew({ estop_id: id }: Pick<EngagedStop, 'estop_id'>): boolean {
    return ![this.#stops, this.#released, this.#ended].some(one => one.has(id))
  }

  /** Adds a stop; in a full table a stop of the whole cell covers what the removed ones covered. */
  add(stop: KeptStop): void {
    const isKnown = this.#stops.has(stop.estop_id)
    if (isKnown || this.#stops.size < MAX_STOPS) this.#stops.set(stop.estop_id, stop)
    else this.#replaceOldest(stop)
  }

  /** Adds a stop of the whole cell that the daemon engages itself. */
  addWide(reason: string): KeptStop {
    const stop = createLocalStop({ reason, by: DAEMON }, this.#now())
    this.#stops.set(stop.estop_id, stop)
    return stop
  }

  /** Ends a stop that a document names as released, for good. */
  end(id: string): void {
    this.#stops.delete(id)
    this.#released.delete(id)
    removeOldest(this.#ended)
    this.#ended.add(id)
  }

  /** Ends a stop on the machine. One of the fleet comes back while it is in force there. */
  release(release: ReleasedStop): void {
    const { is_local } = this.#stops.get(release.estop_id) ?? {}
    this.#stops.delete(release.estop_id)
    if (!is_local) return
    removeOldest(this.#released)
    this.#released.set(release.estop_id, release)
  }

  #replaceOldest(stop: KeptStop): void {
    const narrow = this.list().filter(({ scope }) => scope !== 'all')
    const isWide = narrow.length < this.#stops.size
    for (const { estop_id } of narrow.slice(0, isWide ? 1 : 2)) this.#stops.delete(estop_id)
    if (narrow.length > 0) this.#stops.set(stop.estop_id, stop)
    if (!isWide) this.addWide(`more than ${MAX_STOPS} e-stops were engaged on this cell`)
  }
}

/** Makes room for one more id. */
const removeOldest = (ids: Map<string, unknown> | Set<string>): void => {
  const [oldest] = ids.keys()
  if (ids.size >= MAX_STOPS && oldest !== undefined) ids.delete(oldest)
}
