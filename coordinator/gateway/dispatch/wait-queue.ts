import { ShoalError } from '../../../shared/errors.ts'
import type { CallAfter } from '../../../shared/runtime.ts'
import { type CellEngine, capacity, claim, isOpen, noteRoom } from '../../fleet/routing/engine.ts'
import type { Router, RoutingFacts } from '../../fleet/routing/router.ts'
import { Line, type Waiter } from './line.ts'
import { Pace, toRetryAfterSeconds } from './pace.ts'

interface WaitLimits {
  /** Requests that may wait for one model. */
  length: number
  maxWaitMs: number
  /** Time for which a model that no cell serves any more is expected back. */
  restartMs: number
}

export interface WaitRequest extends RoutingFacts {
  model: string
  keyId: string
  /** Cells on which the request has failed: it waits for others as long as there are any. */
  failedOn?: ReadonlySet<string> | undefined
}

/** A place in a line. */
export interface Place {
  /**
   * Engine whose turn it is, claimed already; undefined after `leave`. Rejects with
   * `cell_unavailable` when the line is full or the wait took too long, and with `draining` when
   * the coordinator stops.
   */
  turn: Promise<CellEngine | undefined>
  leave: () => void
}

interface WaitQueueParts {
  limits: WaitLimits
  router: Pick<Router, 'pick' | 'pools' | 'mayUse' | 'isExpected'>
  /** Monotonic milliseconds. */
  nowMs: () => number
  callAfter: CallAfter
}

interface Waiting extends Waiter, WaitRequest {
  sinceMs: number
  settle: (engine: CellEngine | undefined) => void
  refuse: (error: ShoalError) => void
}

/** Interval at which cells that were full with requests of other coordinators are tried again. */
const LOOK_AGAIN_MS = 100
/**
 * Holds requests that no cell has room for, in one line per model, fair between keys. A place that
 * becomes free is handed to exactly one of them, so that no request is woken in vain and a later
 * one is never served before an earlier one of the same key.
 */
export class WaitQueue {
  readonly #parts: WaitQueueParts
  readonly #lines = new Map<string, Line<Waiting>>()
  readonly #paces = new Map<string, Pace>()
  #waiting = 0
  #stopLooking: (() => void) | undefined

  constructor(parts: WaitQueueParts) {
    this.#parts = parts
  }

  /**
   * Adds a request to its line. Returns undefined when waiting is of no use: no cell serves the
   * model, or waiting is switched off.
   */
  enter(request: WaitRequest): Place | undefined {
    const { limits } = this.#parts
    if (limits.length === 0 || !this.#isExpected(request)) return undefined
    const line = this.#lines.get(request.model) ?? new Line<Waiting>()
    const free = line.size === 0 ? this.#pick(request) : undefined
    if (free !== undefined) {
      claim(free, this.#parts.nowMs())
      return { turn: Promise.resolve(free), leave: () => {} }
    }
    this.#lines.set(request.model, line)
    return this.#join(line, request)
  }

  /** Offers the place of a request that left the engine. */
  offerPlace(engine: CellEngine): void {
    noteRoom(engine)
    this.offer(engine, 1)
  }

  /** Offers the free places of an engine that is new or was reported with room. */
  offer(engine: CellEngine, places = capacity(engine)): void {
    for (let place = 0; place < places && this.#waiting > 0; place++) {
      if (!isOpen(engine, this.#parts.nowMs())) return
      const waiter = this.#findNextFor(engine)
      if (waiter === undefined) return
      this.#hand(engine, waiter)
    }
  }

  /** Number of waiting requests, by model. */
  lengths(): ReadonlyMap<string, number> {
    return new Map([...this.#lines].map(([model, line]) => [model, line.size]))
  }

  /** Refuses every waiting request. */
  close(): void {
    this.#stopLooking?.()
    for (const [model, line] of [...this.#lines])
      for (let next = line.next(() => true); next; next = line.next(() => true)) {
        this.#drop(line, next)
        next.refuse(new ShoalError('draining', `the coordinator stops: ${model} is not served`))
      }
  }

  #isExpected({ model, tenantId }: WaitRequest): boolean {
    const { limits, router, nowMs } = this.#parts
    if (router.isExpected(model, limits.restartMs)) return true
    return router
      .pools(model, tenantId)
      .some(pool => pool.engines.length > 0 || nowMs() - pool.emptySinceMs < limits.restartMs)
  }

  #join(line: Line<Waiting>, request: WaitRequest): Place {
    const { limits, nowMs, callAfter } = this.#parts
    let cancelTimeout = (): void => {}
    const { promise, resolve, reject } = Promise.withResolvers<CellEngine | undefined>()
    const waiter: Waiting = {
      ...request,
      sinceMs: nowMs(),
      settle: engine => {
        cancelTimeout()
        resolve(engine)
      },
      refuse: error => {
        cancelTimeout()
        reject(error)
      },
    }
    if (!this.#makeRoom(line, request)) {
      waiter.refuse(this.#createLineFullError(request.model, line.size))
      return { turn: promise, leave: () => {} }
    }
    line.join(waiter)
    this.#waiting++
    cancelTimeout = callAfter(limits.maxWaitMs, () => {
      if (this.#drop(line, waiter)) waiter.refuse(this.#createTimeoutError(request.model))
    })
    this.#lookLater()
    return {
      turn: promise,
      leave: () => {
        if (this.#drop(line, waiter)) waiter.settle(undefined)
      },
    }
  }

  /**
   * Makes room in a full line: the key with the most places gives up its newest one to a key with
   * fewer.
   */
  #makeRoom(line: Line<Waiting>, { model, keyId }: WaitRequest): boolean {
    if (line.size < this.#parts.limits.length) return true
    const greedy = line.greediest(keyId)
    if (greedy === undefined || !this.#drop(line, greedy)) return false
    greedy.refuse(this.#createLineFullError(model, line.size))
    return true
  }

  #drop(line: Line<Waiting>, waiter: Waiting): boolean {
    if (!line.leave(waiter)) return false
    this.#noteLeft(waiter.model, line)
    return true
  }

  #noteLeft(model: string, line: Line<Waiting>): void {
    this.#waiting--
    if (line.size === 0) this.#lines.delete(model)
    if (this.#waiting > 0) return
    this.#stopLooking?.()
    this.#stopLooking = undefined
  }

  /** Returns the request that has waited longest in any line that the engine can serve. */
  #findNextFor(engine: CellEngine): Waiting | undefined {
    const { router } = this.#parts
    let first: Waiting | undefined
    for (const { model } of engine.pools ?? []) {
      const waiter = this.#lines
        .get(model)
        ?.next(
          next =>
            router.mayUse(engine.cellId, next.tenantId) &&
            this.#findAvoided(next)?.has(engine.cellId) !== true,
        )
      if (waiter !== undefined && (first === undefined || waiter.sinceMs < first.sinceMs))
        first = waiter
    }
    return first
  }

  #hand(engine: CellEngine, waiter: Waiting): void {
    const line = this.#lines.get(waiter.model) as Line<Waiting>
    line.take(waiter)
    this.#noteLeft(waiter.model, line)
    this.#paceOf(waiter.model).noteTurn(this.#parts.nowMs())
    claim(engine, this.#parts.nowMs())
    waiter.settle(engine)
  }

  /**
   * Schedules another look at all lines, because requests of other coordinators leave a cell
   * without a report or an end that is seen here.
   */
  #lookLater(): void {
    const { callAfter } = this.#parts
    this.#stopLooking ??= callAfter(LOOK_AGAIN_MS, () => {
      this.#stopLooking = undefined
      for (const model of [...this.#lines.keys()]) this.#serve(model)
      if (this.#waiting > 0) this.#lookLater()
    })
  }

  #serve(model: string): void {
    for (;;) {
      let engine: CellEngine | undefined
      const waiter = this.#lines.get(model)?.next(next => {
        engine = this.#pick(next)
        return engine !== undefined
      })
      if (waiter === undefined || engine === undefined) return
      this.#hand(engine, waiter)
    }
  }

  #pick(request: WaitRequest): CellEngine | undefined {
    return this.#parts.router.pick(request.model, this.#findAvoided(request), request)
  }

  /** Cells that a request is not given to; undefined once it has failed on all that there are. */
  #findAvoided({ model, tenantId, failedOn }: WaitRequest): ReadonlySet<string> | undefined {
    if (failedOn === undefined || failedOn.size === 0) return undefined
    const hasOther = this.#parts.router
      .pools(model, tenantId)
      .some(pool => pool.engines.some(({ cellId }) => !failedOn.has(cellId)))
    return hasOther ? failedOn : undefined
  }

  #paceOf(model: string): Pace {
    const known = this.#paces.get(model) ?? new Pace()
    this.#paces.set(model, known)
    return known
  }

  #createLineFullError(model: string, length: number): ShoalError {
    return new ShoalError('cell_unavailable', `${length} requests wait for ${model}`, {
      retryAfterSeconds: toRetryAfterSeconds(this.#paceOf(model).betweenMs * length),
    })
  }

  #createTimeoutError(model: string): ShoalError {
    const { maxWaitMs } = this.#parts.limits
    const message = `no cell could serve ${model} within ${maxWaitMs / 1000} s: they are busy, or could not load it (shoal models show ${model})`
    return new ShoalError('cell_unavailable', message, {
      retryAfterSeconds: toRetryAfterSeconds(maxWaitMs),
      reason: 'model_not_served',
      next: `shoal models show ${model}`,
    })
  }
}
