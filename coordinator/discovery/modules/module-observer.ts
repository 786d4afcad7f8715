import { concealKey } from '../../../discovery/entities/conceal-row.ts'
import type { Observation } from '../../../discovery/entities/observation.ts'
import type { Pseudonyms } from '../../../discovery/entities/pseudonyms.ts'
import type { DiscoveryModule } from '../../../discovery/module.ts'
import { Sighting } from '../../../discovery/sighting.ts'
import type { RecordedRows } from '../entities/findings-sink.ts'

/** Most sightings of one row. */
const MAX_SIGHTINGS = 256

/** Turns rows into observations by what their modules declare. */
export class ModuleObserver {
  readonly #modules: ReadonlyMap<string, DiscoveryModule>
  readonly #pseudonyms: Pseudonyms

  constructor(modules: readonly DiscoveryModule[], pseudonyms: Pseudonyms) {
    this.#pseudonyms = pseudonyms
    this.#modules = new Map(modules.map(module => [module.id, module]))
  }

  /** False for a module whose rows are about no things, such as a weather forecast. */
  canObserve(id: string): boolean {
    return this.#modules.get(id)?.observe !== undefined
  }

  /** Observations without their site; a row that says nothing about a thing gives none. */
  observe({ cellId, module: id, rows, startedAt }: RecordedRows, now: number): Observation[] {
    const module = this.#modules.get(id)
    const { observe } = module ?? {}
    if (observe === undefined) return []
    // a cell whose clock is ahead must not make its sightings the newest for good
    const at = Math.min(startedAt, now)
    return rows.flatMap(row =>
      (observe(row, { cellId }) ?? [])
        .slice(0, MAX_SIGHTINGS)
        .filter(sighting => Sighting.safeParse(sighting).success)
        .map(sighting => ({ sighting: this.#conceal(sighting), module: id, cellId, site: '', at })),
    )
  }

  #conceal(sighting: Sighting): Sighting {
    return { ...sighting, keys: sighting.keys.map(key => concealKey(key, this.#pseudonyms)) }
  }
}
