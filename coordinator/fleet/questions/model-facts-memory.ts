import { LRUCache } from 'lru-cache'
import type { CatalogueEntry } from '../../../shared/catalogue.ts'
import { type Runtime, stopTimer, timeoutSignal } from '../../../shared/runtime.ts'
import type { ModelFacts } from '../../../shared/wire/model-facts.ts'
import type { Cell } from '../cells/cell.ts'
import type { Fleet } from '../cells/fleet.ts'
import { askModelFacts, hasFile } from './ask-model-facts.ts'

interface MemoryParts {
  fleet: Pick<Fleet, 'cells'>
  /** True when requests of a tenant may run on a cell. */
  mayUse: (cellId: string, tenantId: string | undefined) => boolean
  runtime: Pick<Runtime, 'nowMs' | 'setTimeout'>
}

interface Kept {
  /** Undefined while the cell has not been able to tell them. */
  facts: ModelFacts | undefined
  /** Time from which they are read again; they serve until they are replaced. */
  untilMs: number
}

/** A file may be replaced on the disk of a cell. */
const KEEP_MS = 600_000
/** Time after which a file that a cell could not read, or a cell that was silent, is asked again. */
const RETRY_MS = 5000
/** Longest question to a cell, and longest wait of a client for all that are missing. */
const ASK_MS = 3000
/** Characters of all facts together; most are chat templates. */
const MAX_SIZE = 8 * 1024 * 1024

/**
 * Facts that the files of models on the cells state about themselves, so that a list of models asks no
 * cell. They are kept by cell and model, whoever asked; a reader gets those of the cells that it may
 * use. A cell is asked one question at a time, and one that is silent delays no other.
 */
export class ModelFactsMemory {
  readonly #parts: MemoryParts
  readonly #kept = new LRUCache<string, Kept>({
    maxSize: MAX_SIZE,
    sizeCalculation: ({ facts }, key) => key.length + JSON.stringify(facts ?? null).length,
  })
  readonly #reading = new Map<string, Promise<void>>()
  /** The last question to each cell. */
  readonly #asking = new Map<string, Promise<boolean>>()
  readonly #silentUntilMs = new Map<string, number>()

  constructor(parts: MemoryParts) {
    this.#parts = parts
  }

  find(entry: CatalogueEntry, tenantId: string | undefined): ModelFacts | undefined {
    for (const { id } of this.#listHolders(entry, tenantId)) {
      const facts = this.#kept.get(keyOf(id, entry))?.facts
      if (facts !== undefined) return facts
    }
    return undefined
  }

  /**
   * Reads what is missing, for a few seconds at most; what takes longer is there the next time. Facts
   * that are old serve meanwhile.
   */
  async prepare(entries: readonly CatalogueEntry[], tenantId: string | undefined): Promise<void> {
    const missing = entries.flatMap(entry => {
      const isKnown = this.find(entry, tenantId) !== undefined
      const reading = this.#begin(entry, tenantId)
      return isKnown || reading === undefined ? [] : [reading]
    })
    if (missing.length === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = this.#parts.runtime.setTimeout(resolve, ASK_MS)
    await Promise.race([Promise.all(missing), promise])
    stopTimer(timer)
  }

  #listHolders(entry: CatalogueEntry, tenantId: string | undefined): Cell[] {
    const { fleet, mayUse } = this.#parts
    return [...fleet.cells()].filter(cell => hasFile(cell, entry.id) && mayUse(cell.id, tenantId))
  }

  /** The questions about a model; undefined while there is nothing to ask. */
  #begin(entry: CatalogueEntry, tenantId: string | undefined): Promise<void> | undefined {
    const key = keyOf(tenantId ?? '', entry)
    const running = this.#reading.get(key)
    if (running !== undefined) return running
    const holders = this.#listHolders(entry, tenantId)
    const kept = holders.map(({ id }) => this.#kept.get(keyOf(id, entry)))
    const isFresh = (each: Kept | undefined) => (each?.untilMs ?? 0) > this.#parts.runtime.nowMs()
    if (kept.some(each => each?.facts !== undefined && isFresh(each))) return undefined
    const due = holders.filter((_, index) => !isFresh(kept[index]))
    if (due.length === 0) return undefined
    const reading = this.#read(due, entry).finally(() => this.#reading.delete(key))
    this.#reading.set(key, reading)
    return reading
  }

  /** Asks cells in turn until one has told the facts. */
  async #read(cells: readonly Cell[], entry: CatalogueEntry): Promise<void> {
    for (const cell of cells) if (await this.#askInTurn(cell, entry)) return
  }

  #askInTurn(cell: Cell, entry: CatalogueEntry): Promise<boolean> {
    const before = this.#asking.get(cell.id) ?? Promise.resolve(false)
    const asked = before.then(() => this.#ask(cell, entry))
    this.#asking.set(cell.id, asked)
    return asked.finally(() => {
      if (this.#asking.get(cell.id) === asked) this.#asking.delete(cell.id)
    })
  }

  /** Resolves to true when the cell has told the facts; never rejects. */
  async #ask(cell: Cell, entry: CatalogueEntry): Promise<boolean> {
    const { runtime } = this.#parts
    const { nowMs } = runtime
    if ((this.#silentUntilMs.get(cell.id) ?? 0) > nowMs()) return false
    const signal = timeoutSignal(runtime, ASK_MS)
    const told = await askModelFacts({ cell: () => cell }, cell.id, entry.id, signal).catch(
      () => undefined,
    )
    if (signal.aborted) this.#silentUntilMs.set(cell.id, nowMs() + RETRY_MS)
    else this.#silentUntilMs.delete(cell.id)
    const key = keyOf(cell.id, entry)
    const facts = told ?? this.#kept.get(key)?.facts
    this.#kept.set(key, { facts, untilMs: nowMs() + (told === undefined ? RETRY_MS : KEEP_MS) })
    return told !== undefined
  }
}

const keyOf = (of: string, entry: CatalogueEntry): string => `${of} ${JSON.stringify(entry)}`
