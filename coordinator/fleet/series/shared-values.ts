import type { Announce } from '../../../shared/wire/announce.ts'
import type { EngineReport, Sample } from '../../../shared/wire/telemetry.ts'

/**
 * Maximum number of shared texts; a fleet has far fewer names of models, drivers and processors.
 */
const MAX_REMEMBERED = 4096
/** Maximum length of a shared text; longer ones are rarely the same on two cells. */
const MAX_LENGTH = 256
/** Maximum number of shared lists; bounds the memory that a cell can fill with invented lists. */
const MAX_LISTS = 256
const MAX_LIST_LENGTH = 16 * 1024

/**
 * Keeps one copy of values that many cells report alike: a parsed message brings a new copy of each
 * text, and a fleet keeps the newest message of every cell.
 */
export class SharedValues {
  readonly #texts = new Map<string, string>()
  readonly #lists = new Map<string, unknown>()

  text<T extends string>(text: T): T {
    const known = this.#texts.get(text)
    if (known !== undefined) return known as T
    if (text.length > MAX_LENGTH || this.#texts.size >= MAX_REMEMBERED) return text
    this.#texts.set(text, text)
    return text
  }

  /** Returns the shared copy of a list, which callers must not modify. */
  list<T>(list: T[]): T[] {
    const text = JSON.stringify(list)
    const known = this.#lists.get(text)
    if (known !== undefined) return known as T[]
    if (text.length > MAX_LIST_LENGTH || this.#lists.size >= MAX_LISTS) return list
    this.#lists.set(text, list)
    return list
  }

  announce(announce: Announce): Announce {
    const { host, gpus, engines, tags, verbs, coordinator_key } = announce
    return {
      ...announce,
      version: this.text(announce.version),
      host: {
        ...host,
        os: this.text(host.os),
        kernel: this.text(host.kernel),
        arch: this.text(host.arch),
        cpu_model: this.text(host.cpu_model),
      },
      gpus: gpus.map(gpu => ({
        ...gpu,
        name: this.text(gpu.name),
        vendor: this.text(gpu.vendor),
        driver: gpu.driver === null ? null : this.text(gpu.driver),
      })),
      engines: this.#engines(engines),
      tags: this.list(tags),
      ...(verbs && { verbs: this.list(verbs) }),
      ...(coordinator_key !== undefined && { coordinator_key: this.text(coordinator_key) }),
    }
  }

  sample(sample: Sample): Sample {
    return { ...sample, engines: this.#engines(sample.engines) }
  }

  #engines(engines: EngineReport[]): EngineReport[] {
    return engines.map(engine => ({
      ...engine,
      weights: this.text(engine.weights),
      kind: this.text(engine.kind),
      state: this.text(engine.state),
      models: this.list(engine.models),
    }))
  }
}
