import type { CatalogueEntry } from '../../shared/catalogue.ts'
import type { ModelFacts } from '../../shared/wire/model-facts.ts'
import { findModelFacts } from './ask-model-facts.ts'
import type { Fleet } from './fleet.ts'

interface MemoryParts {
  fleet: Pick<Fleet, 'cells'>
  /** True when requests of a tenant may run on a cell. */
  mayUse: (cellId: string, tenantId: string | undefined) => boolean
  /** Monotonic milliseconds. */
  nowMs: () => number
}

interface Kept {
  facts: ModelFacts | null
  untilMs: number
}

/** A file may be replaced on the disk of a cell. */
const KEEP_MS = 600_000
/** Time after which a model whose file no cell could read is asked for again. */
const RETRY_MS = 5000
/** Longest question about one model, and longest wait of a client for all that are missing. */
const ASK_MS = 3000
const MAX_KEPT = 1024

/** Facts that the files of models state about themselves, so that a list of models asks no cell. */
export class ModelFactsMemory {
  readonly #parts: MemoryParts
  readonly #kept = new Map<string, Kept>()
  readonly #reading = new Map<string, Promise<void>>()
  /** Resolves when all questions so far are answered: a cell is asked one at a time. */
  #last: Promise<void> = Promise.resolve()

  constructor(parts: MemoryParts) {
    this.#parts = parts
  }

  find(entry: CatalogueEntry, tenantId: string | undefined): ModelFacts | undefined {
    return this.#kept.get(keyOf(entry, tenantId))?.facts ?? undefined
  }

  /** Reads what is missing, for a few seconds at most; what takes longer is there the next time. */
  async prepare(entries: readonly CatalogueEntry[], tenantId: string | undefined): Promise<void> {
    const reading = entries.flatMap(entry => this.#begin(entry, tenantId) ?? [])
    if (reading.length === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ASK_MS)
    await Promise.race([Promise.all(reading), promise])
    clearTimeout(timer)
  }

  /** The question about a model; undefined while its answer is remembered. */
  #begin(entry: CatalogueEntry, tenantId: string | undefined): Promise<void> | undefined {
    const key = keyOf(entry, tenantId)
    const running = this.#reading.get(key)
    if (running !== undefined) return running
    if ((this.#kept.get(key)?.untilMs ?? 0) > this.#parts.nowMs()) return undefined
    const reading = this.#last
      .then(() => this.#read(key, entry.id, tenantId))
      .finally(() => this.#reading.delete(key))
    this.#reading.set(key, reading)
    this.#last = reading.catch(() => {})
    return reading
  }

  async #read(key: string, model: string, tenantId: string | undefined): Promise<void> {
    const { fleet, mayUse, nowMs } = this.#parts
    const cells = [...fleet.cells()].filter(({ id }) => mayUse(id, tenantId))
    const signal = AbortSignal.timeout(ASK_MS)
    const facts = await findModelFacts(cells, model, signal).catch(() => null)
    const [oldest] = this.#kept.keys()
    this.#kept.delete(this.#kept.size < MAX_KEPT ? key : (oldest as string))
    this.#kept.set(key, { facts, untilMs: nowMs() + (facts === null ? RETRY_MS : KEEP_MS) })
  }
}

const keyOf = (entry: CatalogueEntry, tenantId = ''): string =>
  `${tenantId} ${JSON.stringify(entry)}`
