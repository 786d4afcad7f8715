import type { GpuFacts } from '../../shared/wire/announce.ts'
import type { GpuSample } from '../../shared/wire/telemetry.ts'
import { type GpuReading, unknownSample } from './sampler.ts'

/** One GPU as a driver has just described it. */
export interface GpuObservation {
  facts: GpuFacts
  sample: GpuSample
}

/**
 * The newest word about each GPU, for sources that report on their own. A GPU that has missed two
 * periods is unknown.
 */
export class LatestReadings {
  readonly #periodMs: number
  readonly #now: () => number
  readonly #seen = new Map<string, GpuObservation & { at: number }>()
  #complaint: string | undefined

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(periodMs: number, now: () => number = () => performance.now()) {
    this.#periodMs = periodMs
    this.#now = now
  }

  put(seen: GpuObservation): void {
    this.#complaint = undefined
    this.#seen.set(seen.sample.id, { ...seen, at: this.#now() })
  }

  /** Something that explains missing values; forgotten as soon as there are values again. */
  complain(reason: string): void {
    this.#complaint = reason
  }

  facts(): GpuFacts[] {
    return this.#listSorted().map(({ facts }) => facts)
  }

  reading(): GpuReading {
    const reasons = this.#seen.size === 0 && this.#complaint ? [this.#complaint] : []
    const gpus = this.#listSorted().map(({ facts, sample, at }) => {
      const silentMs = this.#now() - at
      if (silentMs <= 2.5 * this.#periodMs) return sample
      reasons.push(this.#silence(facts, silentMs))
      return unknownSample(facts)
    })
    const times = this.#listSorted().map(({ at }) => at)
    return {
      gpus,
      ...(reasons.length > 0 && { reason: reasons.join('; ') }),
      ...(times.length > 0 && { takenAt: Math.min(...times) }),
    }
  }

  #listSorted() {
    return [...this.#seen.values()].sort((a, b) => a.facts.index - b.facts.index)
  }

  #silence({ index }: GpuFacts, silentMs: number): string {
    const text = `GPU ${index} has not been reported for ${Math.round(silentMs / 1000)} s`
    return this.#complaint === undefined ? text : `${text}: ${this.#complaint}`
  }
}
