import type { Engine } from './engine.ts'
import { Pool } from './pool.ts'

export type { Engine } from './engine.ts'

/** Whose own a cell is. */
export interface Owner {
  tenantId: string
  /** The tenant's requests go to no other cells, also when its own are full or away. */
  exclusive: boolean
}

/** Who asks, and for what; as far as it matters where a request goes. */
export interface Asker {
  tenantId?: string | undefined
  /** Unsigned 32-bit number of the beginning of a long prompt: the same goes to the same cell. */
  affinity?: number | undefined
}

export interface Router {
  /** Replaces what a cell serves: model id to engine. An empty map takes it out of routing. */
  update(cellId: string, serving: ReadonlyMap<string, Engine>): void
  /** Replaces what is known of whose own cells are; all others are everybody's. */
  assign(owners: ReadonlyMap<string, Owner>): void
  /**
   * The engine to try next, or undefined when none has room or all were tried. Takes the less
   * loaded of two different random ones (power of two choices), so that it costs the same for ten
   * cells and for ten thousand. A tenant's own cells come first.
   */
  pick(model: string, tried?: ReadonlySet<string>, asker?: Asker): Engine | undefined
  /** The pools a request may be served from, those of its own cells first. */
  pools(model: string, tenantId: string | undefined): Pool[]
  /** True when requests of this tenant may run on the cell. */
  mayUse(cellId: string, tenantId: string | undefined): boolean
  /** Engines that serve a model now, for anybody. */
  count(model: string): number
  all(): Iterable<{ pool: Pool; tenantId: string | undefined }>
}

export const createRouter = (
  random: () => number = Math.random,
  nowMs: () => number = () => performance.now(),
): Router => {
  const shared = new Map<string, Pool>()
  const own = new Map<string, Map<string, Pool>>()
  const byCell = new Map<string, ReadonlyMap<string, Engine>>()
  let owners: ReadonlyMap<string, Owner> = new Map()
  let exclusive: ReadonlySet<string> = new Set()

  const poolsOf = (cellId: string): Map<string, Pool> => {
    const tenantId = owners.get(cellId)?.tenantId
    if (tenantId === undefined) return shared
    return getOrMake(own, tenantId, () => new Map<string, Pool>())
  }

  const remove = (cellId: string, but: ReadonlyMap<string, Engine> = NOTHING): void => {
    const pools = poolsOf(cellId)
    for (const [model, engine] of byCell.get(cellId) ?? NOTHING)
      if (but.get(model) !== engine) pools.get(model)?.remove(engine)
  }

  const add = (cellId: string, but: ReadonlyMap<string, Engine> = NOTHING): void => {
    const pools = poolsOf(cellId)
    for (const [model, engine] of byCell.get(cellId) ?? NOTHING)
      if (but.get(model) !== engine)
        getOrMake(pools, model, () => new Pool(model, random, nowMs)).add(engine)
  }

  const update: Router['update'] = (cellId, serving) => {
    const before = byCell.get(cellId)
    if (isSame(before, serving)) return
    remove(cellId, serving)
    if (serving.size === 0) byCell.delete(cellId)
    else byCell.set(cellId, serving)
    add(cellId, before)
  }

  const assign: Router['assign'] = next => {
    const moved = [...byCell.keys()].filter(
      cellId => owners.get(cellId)?.tenantId !== next.get(cellId)?.tenantId,
    )
    for (const cellId of moved) remove(cellId)
    owners = new Map(next)
    exclusive = new Set(
      [...owners.values()].filter(owner => owner.exclusive).map(owner => owner.tenantId),
    )
    for (const cellId of moved) add(cellId)
  }

  const pick: Router['pick'] = (model, tried = NONE, asker = NOBODY) => {
    const { tenantId, affinity } = asker
    const dedicated = tenantId === undefined ? undefined : own.get(tenantId)
    const found = dedicated?.get(model)?.pick(tried, affinity)
    if (found !== undefined || exclusive.has(tenantId ?? '')) return found
    return shared.get(model)?.pick(tried, affinity)
  }

  const pools: Router['pools'] = (model, tenantId) => {
    const dedicated = tenantId === undefined ? undefined : own.get(tenantId)?.get(model)
    const common = exclusive.has(tenantId ?? '') ? undefined : shared.get(model)
    return [dedicated, common].filter(pool => pool !== undefined)
  }

  const count = (model: string): number => {
    let engines = shared.get(model)?.engines.length ?? 0
    for (const dedicated of own.values()) engines += dedicated.get(model)?.engines.length ?? 0
    return engines
  }

  return {
    update,
    assign,
    pick,
    pools,
    mayUse: (cellId, tenantId) => {
      const owner = owners.get(cellId)?.tenantId
      return owner === undefined ? !exclusive.has(tenantId ?? '') : owner === tenantId
    },
    count,
    all: function* () {
      for (const pool of shared.values()) yield { pool, tenantId: undefined }
      for (const [tenantId, dedicated] of own)
        for (const pool of dedicated.values()) yield { pool, tenantId }
    },
  }
}

const NONE: ReadonlySet<string> = new Set()
const NOBODY: Asker = {}
const NOTHING: ReadonlyMap<string, Engine> = new Map()

const getOrMake = <K, V>(map: Map<K, V>, key: K, make: () => V): V => {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

/** Most reports change no more than counters inside the engines, and then the index stays. */
const isSame = (
  before: ReadonlyMap<string, Engine> | undefined,
  after: ReadonlyMap<string, Engine>,
): boolean => {
  if ((before?.size ?? 0) !== after.size) return false
  for (const [model, engine] of after) if (before?.get(model) !== engine) return false
  return true
}
