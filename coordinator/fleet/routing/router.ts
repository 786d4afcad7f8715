import { systemRuntime } from '../../../shared/runtime.ts'
import type { CellEngine } from './engine.ts'
import { Pool } from './pool.ts'

export type { CellEngine } from './engine.ts'

/** Tenant that a cell is dedicated to. */
export interface Owner {
  tenantId: string
  /**
   * True when the tenant's requests stay on its own cells, even if those are full or disconnected.
   */
  exclusive: boolean
}

/** Facts of a request that decide where it may go. */
export interface RoutingFacts {
  tenantId?: string | undefined
  /**
   * Unsigned 32-bit number of the beginning of a long prompt; equal numbers go to the same cell.
   */
  affinity?: number | undefined
}

/** Index of the engines by model and by the tenant that their cells are dedicated to. */
export class Router {
  readonly #random: () => number
  readonly #nowMs: () => number
  readonly #shared = new Map<string, Pool>()
  readonly #dedicated = new Map<string, Map<string, Pool>>()
  /** Monotonic milliseconds of the announcement of models that cells are about to serve. */
  readonly #expectedAtMs = new Map<string, number>()
  readonly #byCell = new Map<string, ReadonlyMap<string, CellEngine>>()
  #owners: ReadonlyMap<string, Owner> = new Map()
  #exclusive: ReadonlySet<string> = new Set()

  constructor(
    random: () => number = systemRuntime.random,
    nowMs: () => number = systemRuntime.nowMs,
  ) {
    this.#random = random
    this.#nowMs = nowMs
  }

  /** Replaces what a cell serves: model id to engine. An empty map takes it out of routing. */
  update(cellId: string, serving: ReadonlyMap<string, CellEngine>): void {
    const before = this.#byCell.get(cellId)
    if (isSame(before, serving)) return
    this.#remove(cellId, serving)
    if (serving.size === 0) this.#byCell.delete(cellId)
    else this.#byCell.set(cellId, serving)
    this.#add(cellId, before)
  }

  /** Cells are about to serve this model: requests wait for them, as for one that has just left. */
  expect(model: string): void {
    this.#expectedAtMs.set(model, this.#nowMs())
  }

  /** The model is removed: no request waits for it. */
  forget(model: string): void {
    this.#expectedAtMs.delete(model)
  }

  /** True when cells were expected to serve the model within these milliseconds. */
  isExpected(model: string, withinMs: number): boolean {
    return this.#nowMs() - (this.#expectedAtMs.get(model) ?? Number.NEGATIVE_INFINITY) < withinMs
  }

  /** Replaces the owners of dedicated cells; all other cells are shared. */
  assign(next: ReadonlyMap<string, Owner>): void {
    const moved = [...this.#byCell.keys()].filter(
      cellId => this.#owners.get(cellId)?.tenantId !== next.get(cellId)?.tenantId,
    )
    for (const cellId of moved) this.#remove(cellId)
    this.#owners = new Map(next)
    this.#exclusive = new Set(
      [...next.values()].filter(owner => owner.exclusive).map(owner => owner.tenantId),
    )
    for (const cellId of moved) this.#add(cellId)
  }

  /**
   * Returns the engine to try next, or undefined when none has room or all were tried. Takes the
   * less loaded of two different random ones (power of two choices), so that the cost is the same
   * for ten cells and for ten thousand. A tenant's own cells come first.
   */
  pick(
    model: string,
    tried: ReadonlySet<string> = NONE,
    { tenantId, affinity }: RoutingFacts = NOBODY,
  ): CellEngine | undefined {
    const dedicated = tenantId === undefined ? undefined : this.#dedicated.get(tenantId)
    const found = dedicated?.get(model)?.pick(tried, affinity)
    if (found !== undefined || this.#exclusive.has(tenantId ?? '')) return found
    return this.#shared.get(model)?.pick(tried, affinity)
  }

  /** Returns the pools that may serve a request, those of its tenant's own cells first. */
  pools(model: string, tenantId: string | undefined): Pool[] {
    const dedicated = tenantId === undefined ? undefined : this.#dedicated.get(tenantId)?.get(model)
    const common = this.#exclusive.has(tenantId ?? '') ? undefined : this.#shared.get(model)
    return [dedicated, common].filter(pool => pool !== undefined)
  }

  /** True when requests of this tenant may run on the cell. */
  mayUse(cellId: string, tenantId: string | undefined): boolean {
    const owner = this.#owners.get(cellId)?.tenantId
    return owner === undefined ? !this.#exclusive.has(tenantId ?? '') : owner === tenantId
  }

  /** Tenant that a cell is dedicated to; undefined for a shared one. */
  tenantOf(cellId: string): string | undefined {
    return this.#owners.get(cellId)?.tenantId
  }

  /** Number of engines that serve a model now, of all tenants. */
  count(model: string): number {
    let engines = this.#shared.get(model)?.engines.length ?? 0
    for (const pools of this.#dedicated.values()) engines += pools.get(model)?.engines.length ?? 0
    return engines
  }

  *listPools(): Iterable<{ pool: Pool; tenantId: string | undefined }> {
    for (const pool of this.#shared.values()) yield { pool, tenantId: undefined }
    for (const [tenantId, pools] of this.#dedicated)
      for (const pool of pools.values()) yield { pool, tenantId }
  }

  #poolsOf(cellId: string): Map<string, Pool> {
    const tenantId = this.#owners.get(cellId)?.tenantId
    if (tenantId === undefined) return this.#shared
    return getOrMake(this.#dedicated, tenantId, () => new Map<string, Pool>())
  }

  #remove(cellId: string, except: ReadonlyMap<string, CellEngine> = NOTHING): void {
    const pools = this.#poolsOf(cellId)
    for (const [model, engine] of this.#byCell.get(cellId) ?? NOTHING)
      if (except.get(model) !== engine) pools.get(model)?.remove(engine)
  }

  #add(cellId: string, except: ReadonlyMap<string, CellEngine> = NOTHING): void {
    const pools = this.#poolsOf(cellId)
    for (const [model, engine] of this.#byCell.get(cellId) ?? NOTHING)
      if (except.get(model) !== engine) this.#poolOf(pools, model).add(engine)
  }

  #poolOf(pools: Map<string, Pool>, model: string): Pool {
    return getOrMake(pools, model, () => new Pool(model, this.#random, this.#nowMs))
  }
}

const NONE: ReadonlySet<string> = new Set()
const NOBODY: RoutingFacts = {}
const NOTHING: ReadonlyMap<string, CellEngine> = new Map()

const getOrMake = <K, V>(map: Map<K, V>, key: K, make: () => V): V => {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

/**
 * True when the engines are the same. Most reports change only counters inside the engines, and the
 * index then stays as it is.
 */
const isSame = (
  before: ReadonlyMap<string, CellEngine> | undefined,
  after: ReadonlyMap<string, CellEngine>,
): boolean => {
  if ((before?.size ?? 0) !== after.size) return false
  for (const [model, engine] of after) if (before?.get(model) !== engine) return false
  return true
}
