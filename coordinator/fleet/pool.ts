import { type Engine, isFull, load, type Sums } from './engine.ts'
import { Ring } from './ring.ts'
import { trailOf } from './trails.ts'

/** More than any queue: a model that is loaded somewhere is not loaded anew elsewhere. */
const NOT_READY_LOAD = 1e6
/** More still: a cell that would refuse. */
const FULL_LOAD = 1e9
/** What a full trail is worth, in requests per slot: it decides between cells of like load. */
const TRAIL_WORTH = 0.25
/** One draw in so many does not look at trails, so that a cell without one can lay one again. */
const BLIND_EVERY = 4
/** Pairs that are drawn in a large fleet before all count as full. */
const DRAWS = 32
/** Up to so many engines are all looked at instead. */
const SMALL = 16
/** How far above the mean load prefix affinity may go (consistent hashing with bounded loads). */
const BOUND = 1.25

/**
 * The engines that serve one model; each knows its place, so that joining and leaving cost the
 * same among ten thousand.
 */
export class Pool implements Sums {
  readonly model: string
  slots = 0
  inFlight = 0
  /** When the last engine left, monotonic milliseconds. */
  emptySinceMs = Number.NEGATIVE_INFINITY
  readonly engines: Engine[] = []
  readonly #places = new Map<Engine, number>()
  readonly #random: () => number
  readonly #nowMs: () => number
  #ring: Ring<Engine> | undefined

  constructor(model: string, random: () => number, nowMs: () => number) {
    this.model = model
    this.#random = random
    this.#nowMs = nowMs
  }

  add(engine: Engine): void {
    this.#places.set(engine, this.engines.length)
    this.engines.push(engine)
    this.slots += engine.slots
    this.inFlight += engine.inFlight
    engine.pools = [...(engine.pools ?? []), this]
    this.#ring?.add(engine.cellId, engine)
  }

  remove(engine: Engine): void {
    const place = this.#places.get(engine)
    if (place === undefined) return
    this.#places.delete(engine)
    const last = this.engines.pop() as Engine
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

  /** An engine that has room and was not tried. With `affinity`, where its kind went before. */
  pick(tried: ReadonlySet<string>, affinity: number | undefined): Engine | undefined {
    const { engines } = this
    if (engines.length === 0) return undefined
    const nowMs = this.#nowMs()
    if (affinity !== undefined && engines.length > 1) {
      const found = this.#byAffinity(affinity, tried, nowMs)
      if (found !== undefined) return found
    }
    const isOpen = (engine: Engine) => !tried.has(engine.cellId) && !isFull(engine, nowMs)
    for (let draw = 0; draw < DRAWS; draw++) {
      const engine = this.#lessLoaded(nowMs)
      if (isOpen(engine)) return engine
      if (engines.length <= SMALL) return leastLoaded(engines.filter(isOpen))
    }
    return undefined
  }

  #byAffinity(place: number, tried: ReadonlySet<string>, nowMs: number): Engine | undefined {
    this.#ring ??= this.#makeRing()
    const perSlot = (BOUND * (this.inFlight + 1)) / Math.max(1, this.slots)
    return this.#ring.find(
      place,
      engine =>
        engine.ready &&
        engine.inFlight < Math.ceil(perSlot * engine.slots) &&
        !isFull(engine, nowMs) &&
        !tried.has(engine.cellId),
    )
  }

  /** Made when the first long prompt comes: most models never need it. */
  #makeRing(): Ring<Engine> {
    const ring = new Ring<Engine>(this.#nowMs)
    for (const engine of this.engines) ring.add(engine.cellId, engine)
    return ring
  }

  /** The less loaded of two different random ones (power of two choices), trails considered. */
  #lessLoaded(nowMs: number): Engine {
    const { engines } = this
    const first = Math.floor(this.#random() * engines.length)
    const step = 1 + Math.floor(this.#random() * (engines.length - 1))
    const a = engines[first] as Engine
    const b = engines[(first + step) % engines.length] as Engine
    const worth = this.#random() * BLIND_EVERY < 1 ? 0 : TRAIL_WORTH
    return weight(b, nowMs, worth) < weight(a, nowMs, worth) ? b : a
  }
}

const weight = (engine: Engine, nowMs: number, trailWorth: number): number =>
  load(engine) +
  (engine.ready ? 0 : NOT_READY_LOAD) +
  (isFull(engine, nowMs) ? FULL_LOAD : 0) -
  trailWorth * trailOf(engine, nowMs)

const leastLoaded = (engines: Engine[]): Engine | undefined => {
  let best: Engine | undefined
  for (const engine of engines)
    if (best === undefined || waitOn(engine) < waitOn(best)) best = engine
  return best
}

const waitOn = (engine: Engine): number => load(engine) + (engine.ready ? 0 : NOT_READY_LOAD)
