import { type CellEngine, isOpen, load, type Sums } from './engine.ts'
import { compareRanks, STEP } from './placement.ts'
import { Ring } from './ring.ts'
import { trailOf } from './trails.ts'

/**
 * Weight added to an engine that is not ready. It exceeds any queue, so that a model loaded on one
 * cell is not loaded on another.
 */
const NOT_READY_LOAD = 1e6
/** Weight added to an engine that takes nothing now; exceeds `NOT_READY_LOAD`. */
const CLOSED_LOAD = 1e9
/** Value of a full trail in requests per slot; decides between cells of similar load. */
const TRAIL_WORTH = 0.25
/** One draw in this many ignores trails, so that a cell without a trail can earn one. */
const BLIND_EVERY = 4
/** Maximum number of pairs drawn in a large fleet before all engines count as full. */
const DRAWS = 32
/** Time for which the lists of loaded and loading engines are reused, in milliseconds. */
const SORT_MS = 250
/**
 * Largest pool in which all engines are compared when the first draw fails; in larger pools, the
 * number of cold engines that are drawn.
 */
const SMALL = 16
/**
 * Factor by which prefix affinity may exceed the mean load (consistent hashing with bounded loads).
 */
const BOUND = 1.25

/**
 * The engines that serve one model; each knows its place, so that joining and leaving cost the
 * same among ten thousand.
 */
export class Pool implements Sums {
  readonly model: string
  slots = 0
  inFlight = 0
  /** Time from which an engine is expected: when the last one left; monotonic milliseconds. */
  emptySinceMs = Number.NEGATIVE_INFINITY
  readonly engines: CellEngine[] = []
  readonly #places = new Map<CellEngine, number>()
  readonly #random: () => number
  readonly #nowMs: () => number
  #ring: Ring<CellEngine> | undefined
  #loaded: readonly CellEngine[] = []
  #waking: readonly CellEngine[] = []
  /** Cold engine that was chosen last. */
  #woken: CellEngine | undefined
  #sortedAtMs = Number.NEGATIVE_INFINITY

  constructor(model: string, random: () => number, nowMs: () => number) {
    this.model = model
    this.#random = random
    this.#nowMs = nowMs
  }

  add(engine: CellEngine): void {
    this.#places.set(engine, this.engines.length)
    this.engines.push(engine)
    this.slots += engine.slots
    this.inFlight += engine.inFlight
    engine.pools = [...(engine.pools ?? []), this]
    this.#ring?.add(engine.cellId, engine)
  }

  remove(engine: CellEngine): void {
    const place = this.#places.get(engine)
    if (place === undefined) return
    this.#places.delete(engine)
    const last = this.engines.pop() as CellEngine
    if (last !== engine) {
      this.engines[place] = last
      this.#places.set(last, place)
    }
    this.slots -= engine.slots
    this.inFlight -= engine.inFlight
    engine.pools = engine.pools?.filter(pool => pool !== this) ?? []
    engine.lostAtMs = this.#nowMs()
    this.#ring?.remove(engine)
    if (this.engines.length === 0) this.emptySinceMs = this.#nowMs()
  }

  /**
   * Returns an engine that has room and was not tried. With `affinity`, prefers the engine that
   * earlier requests with this number went to.
   */
  pick(tried: ReadonlySet<string>, affinity: number | undefined): CellEngine | undefined {
    const { engines } = this
    if (engines.length === 0) return undefined
    const nowMs = this.#nowMs()
    if (affinity !== undefined && engines.length > 1) {
      const found = this.#pickByAffinity(affinity, tried, nowMs)
      if (found !== undefined) return found
    }
    const mayTake = (engine: CellEngine) => !tried.has(engine.cellId) && isOpen(engine, nowMs)
    if (engines.length <= SMALL) {
      const engine = this.#pickLessLoaded(engines, nowMs)
      return engine.ready && mayTake(engine) ? engine : findBest(engines.filter(mayTake))
    }
    return this.#draw(engines, mayTake, nowMs) ?? this.#pickFromFew(mayTake, nowMs)
  }

  /** Draws the less loaded of two engines repeatedly until one is loaded and has room. */
  #draw(
    engines: readonly CellEngine[],
    mayTake: (engine: CellEngine) => boolean,
    nowMs: number,
  ): CellEngine | undefined {
    for (let draw = 0; draw < DRAWS && engines.length > 0; draw++) {
      const engine = this.#pickLessLoaded(engines, nowMs)
      if (engine.ready && mayTake(engine)) return engine
    }
    return undefined
  }

  /**
   * Picks an engine in a large fleet in which few have the model loaded: a loaded one, else one
   * that is loading, else the best suited of a few cold ones. Loading engines come before cold ones
   * so that two cells do not load the same model needlessly.
   */
  #pickFromFew(mayTake: (engine: CellEngine) => boolean, nowMs: number): CellEngine | undefined {
    this.#sort(nowMs)
    const found = this.#draw(this.#loaded, mayTake, nowMs)
    if (found !== undefined) return found
    const woken = [...this.#waking, ...(this.#woken === undefined ? [] : [this.#woken])]
    const waking = findBest(woken.filter(engine => this.#places.has(engine) && mayTake(engine)))
    if (waking !== undefined) return waking
    const few = Array.from({ length: SMALL }, () => this.#random() * this.engines.length)
    this.#woken = findBest(
      few.map(at => this.engines[Math.floor(at)] as CellEngine).filter(mayTake),
    )
    return this.#woken
  }

  /** Refreshes the lists of loaded and loading engines, a few times a second at most. */
  #sort(nowMs: number): void {
    if (nowMs - this.#sortedAtMs < SORT_MS) return
    this.#sortedAtMs = nowMs
    this.#loaded = this.engines.filter(({ ready }) => ready)
    this.#waking = this.engines.filter(
      ({ ready, inFlight, suits }) => !ready && (inFlight > 0 || suits?.[0] === STEP.loading),
    )
  }

  #pickByAffinity(
    place: number,
    tried: ReadonlySet<string>,
    nowMs: number,
  ): CellEngine | undefined {
    this.#ring ??= this.#makeRing()
    const perSlot = (BOUND * (this.inFlight + 1)) / Math.max(1, this.slots)
    return this.#ring.find(
      place,
      engine =>
        engine.ready &&
        engine.inFlight < Math.ceil(perSlot * engine.slots) &&
        isOpen(engine, nowMs) &&
        !tried.has(engine.cellId),
    )
  }

  /** Builds the ring on the first long prompt; most models never need one. */
  #makeRing(): Ring<CellEngine> {
    const ring = new Ring<CellEngine>(this.#nowMs)
    for (const engine of this.engines) ring.add(engine.cellId, engine)
    return ring
  }

  /**
   * Returns the less loaded of two different random engines (power of two choices), trails
   * considered.
   */
  #pickLessLoaded(engines: readonly CellEngine[], nowMs: number): CellEngine {
    const first = Math.floor(this.#random() * engines.length)
    const step = 1 + Math.floor(this.#random() * (engines.length - 1))
    const a = engines[first] as CellEngine
    const b = engines[(first + step) % engines.length] as CellEngine
    const worth = this.#random() * BLIND_EVERY < 1 ? 0 : TRAIL_WORTH
    return weight(b, nowMs, worth) < weight(a, nowMs, worth) ? b : a
  }
}

const weight = (engine: CellEngine, nowMs: number, trailWorth: number): number =>
  load(engine) +
  (engine.ready ? 0 : NOT_READY_LOAD) +
  (isOpen(engine, nowMs) ? 0 : CLOSED_LOAD) -
  trailWorth * trailOf(engine, nowMs)

/**
 * Returns a loaded engine before a cold one; the least busy of the loaded, the best suited of the
 * cold.
 */
const findBest = (engines: readonly CellEngine[]): CellEngine | undefined => {
  let found: CellEngine | undefined
  for (const engine of engines) if (found === undefined || isBetter(engine, found)) found = engine
  return found
}

const isBetter = (a: CellEngine, b: CellEngine): boolean => {
  if (a.ready !== b.ready) return a.ready
  // requests in flight have already asked for the model there
  if (!a.ready && a.inFlight > 0 !== b.inFlight > 0) return a.inFlight > 0
  const order = a.ready ? 0 : compareRanks(a.suits ?? UNKNOWN, b.suits ?? UNKNOWN)
  return order < 0 || (order === 0 && load(a) < load(b))
}

const UNKNOWN = [STEP.unknown, 0] as const
