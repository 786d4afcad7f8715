import { backOffMs } from '../../../shared/back-off.ts'
import type { CellLink } from '../cells/cell-link.ts'
import { type Claims, estimateQueue, estimateSlots } from './health/claims.ts'
import { EngineHealth } from './health/engine-health.ts'

/** Rank of a cell for a model that is not loaded on it; the smallest is best. */
export type Rank = readonly [step: number, cost: number]

/** One engine of one cell as the router sees it; ids with the same weights share it. */
export interface CellEngine {
  cellId: string
  link: CellLink
  slots: number
  /** Requests that may wait on the cell; twice its slots when it does not say. */
  queue?: number | undefined
  /** Slots and waiting requests as the cell reports them; see `believeClaims`. */
  claims?: Claims | undefined
  /** Requests that this coordinator has running on it; see `claim`. */
  inFlight: number
  /** Requests of others, as of the cell's last report: busy and queued, less our own then. */
  others: number
  /** False while its first request would have to wait for the model to be loaded. */
  ready: boolean
  /** Rank of the engine's cell while the model is not loaded; see `placement.ts`. */
  suits?: Rank | undefined
  /** The cell has refused for want of room: it is not asked before, monotonic milliseconds. */
  fullUntilMs?: number
  /** Times in a row that it refused; each one doubles the time until it is asked again. */
  refusals?: number
  /** Time at which the engine was last taken out of routing, in monotonic milliseconds. */
  lostAtMs?: number
  trail?: Trail
  /** Service of the engine so far; undefined before its first request. */
  health?: EngineHealth | undefined
  /** Most tokens of one request, as the cell reports; undefined when unknown. */
  contextLength?: number | undefined
  /** The sums it is part of, one for each model id. */
  pools?: Sums[]
}

/** Pheromone trail that good service lays on an engine; see `trails.ts`. */
interface Trail {
  /** 0 to 1, as of `atMs`. */
  level: number
  /** Monotonic milliseconds. */
  atMs: number
}

/** Totals over all engines that serve one model. */
export interface Sums {
  model: string
  slots: number
  inFlight: number
  readonly engines: readonly CellEngine[]
}

/** Takes a place on the engine for a request that is sent now. To be given back with `release`. */
export const claim = (engine: CellEngine, nowMs: number): void => {
  engine.inFlight++
  engine.health?.breaker.noteSent(nowMs)
  for (const sums of engine.pools ?? NONE) sums.inFlight++
}

export const release = (engine: CellEngine): void => {
  engine.inFlight--
  for (const sums of engine.pools ?? NONE) sums.inFlight--
}

const NONE: readonly Sums[] = []

const resize = (engine: CellEngine, slots: number): void => {
  for (const sums of engine.pools ?? NONE) sums.slots += slots - engine.slots
  engine.slots = slots
}

/** Believes as much of the cell's report as the engine has proven. */
export const believeClaims = (engine: CellEngine): void => {
  if (engine.claims === undefined) return
  resize(engine, estimateSlots(engine.claims.slots, engine.health))
  engine.queue = estimateQueue(engine.claims.queue, engine.slots)
}

/** Requests it takes at once: those that run and those that may wait on the cell. */
export const capacity = ({ slots, queue = 2 * slots }: CellEngine): number => slots + queue

/** A request that is sent there now would be refused. What others have there the cell judges. */
export const isFull = (engine: CellEngine, nowMs: number): boolean =>
  engine.inFlight >= capacity(engine) || (engine.fullUntilMs ?? 0) > nowMs

/** True when the engine takes a request now: it has room, and its breaker lets the request through. */
export const isOpen = (engine: CellEngine, nowMs: number): boolean =>
  !isFull(engine, nowMs) && engine.health?.breaker.blocks(nowMs) !== true

/** True for an engine that failed and is to be tried again: the next request there is a probe. */
export const isHalfOpen = ({ health }: CellEngine): boolean => health?.breaker.isClosed === false

/** Returns the record of the engine's service, which begins with its first request. */
export const healthOf = (engine: CellEngine): EngineHealth => {
  engine.health ??= new EngineHealth()
  return engine.health
}

/** First and longest time until a cell that refused is asked again, milliseconds. */
const BUSY = { firstMs: 100, maxMs: 2000 }

/** Records that the engine refused a request for lack of room. */
export const noteEngineRefusal = (engine: CellEngine, nowMs: number): void => {
  const refusals = engine.refusals ?? 0
  engine.refusals = refusals + 1
  engine.fullUntilMs = nowMs + backOffMs(BUSY, refusals)
}

/** Records that the engine has room again, as far as the coordinator knows. */
export const noteRoom = (engine: CellEngine): void => {
  engine.fullUntilMs = 0
  engine.refusals = 0
}

/** Requests per slot; above 1 new ones wait on the cell. */
export const load = (engine: CellEngine): number =>
  (engine.inFlight + engine.others) / Math.max(1, engine.slots)
