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
  const byModel = new Map<string, Pool>()
  const byCell = new Map<string, ReadonlyMap<string, Engine>>()

  const update = (cellId: string, serving: ReadonlyMap<string, Engine>): void => {
    const before = byCell.get(cellId)
    if (isSame(before, serving)) return
    for (const [model, engine] of before ?? []) byModel.get(model)?.remove(engine)
    byCell.delete(cellId)
    if (serving.size === 0) return
    byCell.set(cellId, serving)
    for (const [model, engine] of serving) {
      const pool = byModel.get(model) ?? new Pool()
      byModel.set(model, pool)
      pool.add(engine)
    }
  }

  const pick = (model: string, tried: ReadonlySet<string> = NONE): Engine | undefined => {
    const engines = byModel.get(model)?.engines
    if (engines === undefined || engines.length === 0) return undefined
    if (tried.size > 0) return pickUntried(engines, tried, random)
    return lessLoaded(engines, random)
  }

  return { update, pick, count: model => byModel.get(model)?.engines.length ?? 0 }
}

const NONE: ReadonlySet<string> = new Set()

/** Engines of one model; each knows its place, so that leaving costs the same among ten thousand. */
class Pool {
  readonly engines: Engine[] = []
  readonly #places = new Map<Engine, number>()

  add(engine: Engine): void {
    this.#places.set(engine, this.engines.length)
    this.engines.push(engine)
  }

  remove(engine: Engine): void {
    const place = this.#places.get(engine)
    if (place === undefined) return
    this.#places.delete(engine)
    const last = this.engines.pop() as Engine
    if (last === engine) return
    this.engines[place] = last
    this.#places.set(last, place)
  }
}

/** The less loaded of two different random ones. */
const lessLoaded = (engines: Engine[], random: () => number): Engine => {
  const first = Math.floor(random() * engines.length)
  const step = 1 + Math.floor(random() * (engines.length - 1))
  const a = engines[first] as Engine
  const b = engines[(first + step) % engines.length] as Engine
  return load(b) < load(a) ? b : a
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

/** Draws before a second choice looks at all cells. */
const DRAWS = 8

/** A few draws find an untried cell in a large fleet; in a small one all are looked at. */
const pickUntried = (
  engines: Engine[],
  tried: ReadonlySet<string>,
  random: () => number,
): Engine | undefined => {
  for (let draw = 0; draw < DRAWS && engines.length > DRAWS; draw++) {
    const engine = lessLoaded(engines, random)
    if (!tried.has(engine.cellId)) return engine
  }
  let best: Engine | undefined
  for (const engine of engines)
    if (!tried.has(engine.cellId) && (best === undefined || load(engine) < load(best)))
      best = engine
  return best
}
