import type { Standstill } from '../../fleet/cells/standstill.ts'
import {
  believeClaims,
  type CellEngine,
  healthOf,
  noteEngineRefusal,
} from '../../fleet/routing/engine.ts'
import { Blame } from '../../fleet/routing/health/blame.ts'
import type { AnswerTiming } from '../../fleet/routing/health/engine-health.ts'
import { type Fault, isSilence } from '../../fleet/routing/health/fault.ts'
import type { Router } from '../../fleet/routing/router.ts'
import type { Trails } from '../../fleet/routing/trails.ts'
import type { Place, WaitQueue, WaitRequest } from './wait-queue.ts'

/** Outcome of a request on an engine; `busy` means refused for lack of room. */
export type End = 'served' | 'busy' | 'failed' | 'cancelled'

/** A request that was sent to an engine; times are monotonic milliseconds. */
export interface SentRequest {
  engine: CellEngine
  sentAtMs: number
  /** `lostAtMs` of the engine when the request was sent. */
  lostBeforeMs?: number | undefined
}

export interface FailedRequest extends SentRequest {
  fault: Fault
}

/** The way of one request to its cells. */
export interface RequestLane {
  pick(tried: ReadonlySet<string>): CellEngine | undefined
  /**
   * A place in line for when no cell can be asked now; undefined when waiting is of no use.
   * @param failedOn cells that are not waited for as long as there are others
   */
  wait(failedOn?: ReadonlySet<string>): Place | undefined
  /** Reports the first piece of a stream. */
  reportStart(sent: SentRequest): void
  /** Reports that the request has left an engine; called after its place was released. */
  reportEnd(sent: SentRequest, end: End, timing?: AnswerTiming): void
  /**
   * Reports failures once it is known what speaks for the request.
   * @param isAnswered another cell has answered the same request since
   */
  reportFailures(failures: readonly FailedRequest[], isAnswered: boolean): void
}

export type RequestLanes = (request: WaitRequest) => RequestLane

interface LaneParts {
  router: Pick<Router, 'pick'>
  queue: Pick<WaitQueue, 'enter' | 'offer' | 'offerPlace'>
  trails: Trails
  onFault?: (fault: Fault) => void
  /** Runs when the circuit breaker of an engine has opened or closed. */
  onBreaker?: (engine: CellEngine, isClosed: boolean) => void
  /** Requests that were under way while this process stood still tell nothing about their cells. */
  standstill?: Pick<Standstill, 'hasBeenSince'>
  /** Monotonic milliseconds. */
  nowMs: () => number
}

export const createLanes = (parts: LaneParts): RequestLanes => {
  const blame = new Blame()
  return request => new Lane(parts, blame, request)
}

class Lane implements RequestLane {
  readonly #parts: LaneParts
  readonly #blame: Blame
  readonly #request: WaitRequest

  constructor(parts: LaneParts, blame: Blame, request: WaitRequest) {
    this.#parts = parts
    this.#blame = blame
    this.#request = request
  }

  pick(tried: ReadonlySet<string>): CellEngine | undefined {
    return this.#parts.router.pick(this.#request.model, tried, this.#request)
  }

  wait(failedOn?: ReadonlySet<string>): Place | undefined {
    const request = this.#request
    return this.#parts.queue.enter(
      failedOn === undefined || failedOn.size === 0 ? request : { ...request, failedOn },
    )
  }

  reportStart({ engine, sentAtMs }: SentRequest): void {
    const { slots } = engine
    healthOf(engine).noteBegun(sentAtMs, engine.inFlight)
    believeClaims(engine)
    if (engine.slots > slots) this.#parts.queue.offer(engine)
  }

  reportEnd({ engine, sentAtMs }: SentRequest, end: End, timing?: AnswerTiming): void {
    const { queue, trails, nowMs } = this.#parts
    if (end === 'busy') noteEngineRefusal(engine, nowMs())
    const isOurFault = end === 'failed' && this.#hasStoodStill(sentAtMs)
    if (end === 'busy' || end === 'cancelled' || isOurFault)
      engine.health?.breaker.noteNothing(sentAtMs, nowMs())
    if (end === 'failed' && !isOurFault) {
      // its link may be going down with all that it has: nobody who waits is sent after them
      trails.clear(engine)
      healthOf(engine).failed++
      if (engine.health?.breaker.isProbe(sentAtMs))
        engine.health.breaker.noteFault(sentAtMs, nowMs())
    }
    if (end === 'served') {
      const wasClosed = isClosed(engine)
      healthOf(engine).noteServed(sentAtMs, engine.inFlight + 1, timing)
      if (!wasClosed && isClosed(engine)) this.#parts.onBreaker?.(engine, true)
      if (timing !== undefined) trails.deposit(engine, this.#request.model, timing)
    }
    if (end === 'served' || end === 'cancelled') queue.offerPlace(engine)
  }

  reportFailures(failures: readonly FailedRequest[], isAnswered: boolean): void {
    const { onFault } = this.#parts
    const nowMs = this.#parts.nowMs()
    for (const { engine, sentAtMs, fault } of failures) {
      if (this.#hasStoodStill(sentAtMs)) continue
      const health = healthOf(engine)
      health.lastFault = fault
      onFault?.(fault)
      if (isAnswered || this.#blame.countsAgainstCell(this.#request.keyId, engine.cellId, nowMs))
        this.#noteFault(engine, { fault, sentAtMs }, nowMs)
    }
  }

  #noteFault(
    engine: CellEngine,
    { fault, sentAtMs }: { fault: Fault; sentAtMs: number },
    nowMs: number,
  ): void {
    const wasClosed = isClosed(engine)
    healthOf(engine).breaker.noteFault(sentAtMs, nowMs, isSilence(fault))
    if (wasClosed && !isClosed(engine)) this.#parts.onBreaker?.(engine, false)
  }

  #hasStoodStill(sinceMs: number): boolean {
    const { standstill, nowMs } = this.#parts
    return standstill?.hasBeenSince(sinceMs, nowMs()) === true
  }
}

const isClosed = ({ health }: CellEngine): boolean => health?.breaker.isClosed !== false
