import type { CellLink } from './cell-link.ts'

/** One engine of one cell as the router sees it; ids with the same weights share it. */
export interface Engine {
  cellId: string
  link: CellLink
  slots: number
  /** Requests that this coordinator has running on it. */
  inFlight: number
  /** Requests of others, as of the cell's last report: busy and queued, less our own then. */
  others: number
  /** False while its first request would have to wait for the model to be loaded. */
  ready: boolean
}

/** More than any queue: a model that is loaded somewhere is not loaded anew elsewhere. */
const NOT_READY_LOAD = 1e6

/** Requests per slot; above 1 new ones queue on the cell. */
const load = (engine: Engine): number =>
  (engine.inFlight + engine.others) / Math.max(1, engine.slots) +
  (engine.ready ? 0 : NOT_READY_LOAD)

export interface Router {
  /** Replaces what a cell serves: model id to engine. An empty map takes it out of routing. */
  update(cellId: string, serving: ReadonlyMap<string, Engine>): void
  /**
   * The engine to try next, or undefined when no cell is left. Takes the less loaded of two different random
   * ones (power of two choices), so that it costs the same for ten cells and for ten thousand.
   */
  pick(model: string, tried?: ReadonlySet<string>): Engine | undefined
  /** Engines that serve a model now. */
  count(model: string): number
}

export const createRouter = (random: () => number = Math.random): Router => {
  const byModel = new Map<string, Engine[]>()
  const byCell = new Map<string, ReadonlyMap<string, Engine>>()

  const remove = (model: string, engine: Engine): void => {
    const engines = byModel.get(model)
    const index = engines?.indexOf(engine) ?? -1
    const last = engines?.at(-1)
    if (engines === undefined || last === undefined || index < 0) return
    engines[index] = last
    engines.pop()
  }

  const update = (cellId: string, serving: ReadonlyMap<string, Engine>): void => {
    const before = byCell.get(cellId)
    if (isSame(before, serving)) return
    for (const [model, engine] of before ?? []) remove(model, engine)
    byCell.delete(cellId)
    if (serving.size === 0) return
    byCell.set(cellId, serving)
    for (const [model, engine] of serving) {
      const engines = byModel.get(model)
      if (engines) engines.push(engine)
      else byModel.set(model, [engine])
    }
  }

  const pick = (model: string, tried?: ReadonlySet<string>): Engine | undefined => {
    const engines = byModel.get(model)
    if (engines === undefined || engines.length === 0) return undefined
    if (tried !== undefined && tried.size > 0) return pickUntried(engines, tried)
    const first = Math.floor(random() * engines.length)
    const step = 1 + Math.floor(random() * (engines.length - 1))
    const a = engines[first] as Engine
    const b = engines[(first + step) % engines.length] as Engine
    return load(b) < load(a) ? b : a
  }

  return { update, pick, count: model => byModel.get(model)?.length ?? 0 }
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

/** A second choice is rare, so a walk over all is fine: the least loaded that was not tried. */
const pickUntried = (engines: Engine[], tried: ReadonlySet<string>): Engine | undefined => {
  let best: Engine | undefined
  for (const engine of engines)
    if (!tried.has(engine.cellId) && (best === undefined || load(engine) < load(best)))
      best = engine
  return best
}
