import { ShoalError } from '../../shared/errors.ts'
import { capacity, claim, type Engine, isFull, noteRoom } from './engine.ts'
import { Line, type Waiter } from './line.ts'
import type { Asker, Router } from './router.ts'

export interface WaitLimits {
  /** Requests that may wait for one model. */
  length: number
  maxWaitMs: number
  /** How long a model that nobody serves any more is expected back. */
  restartMs: number
}

export interface WaitRequest extends Asker {
  model: string
  keyId: string
}

/** A place in a line. */
export interface Place {
  /**
   * The engine whose turn it is, claimed already; undefined after `leave`. Rejects with
   * `cell_unavailable` when there is no place or it took too long.
   */
  turn: Promise<Engine | undefined>
  leave: () => void
}

/**
 * Requests that no cell has room for wait here, for each model in a line of its own, fair between
 * keys. A place that becomes free is handed to exactly one of them, so that nobody is woken in vain
 * and nobody who comes later is served before.
 */
export interface WaitQueue {
  /** Undefined when waiting is of no use: nobody serves the model, or waiting is switched off. */
  enter(request: WaitRequest): Place | undefined
  /** One request left the engine. */
  freed(engine: Engine): void
  /** The engine is new, or was reported with room: `places` of them. */
  offer(engine: Engine, places?: number): void
  /** Requests that wait, by model. */
  lengths(): ReadonlyMap<string, number>
  close(): void
}

export interface WaitQueueParts {
  limits: WaitLimits
  router: Pick<Router, 'pick' | 'pools' | 'mayUse'>
  /** Monotonic milliseconds. */
  nowMs: () => number
  /** Runs something later; the answer calls it off. */
  after?: (milliseconds: number, run: () => void) => () => void
}

interface Waiting extends Waiter, WaitRequest {
  sinceMs: number
  settle: (engine: Engine | undefined) => void
  refuse: (error: ShoalError) => void
}

/** Cells that are full with requests of others are asked again this often. */
const LOOK_AGAIN_MS = 100
/** How much one turn moves the estimate of the time between two. */
const SHARE = 0.2

export const createWaitQueue = (parts: WaitQueueParts): WaitQueue => {
  const { limits, router, nowMs, after = later } = parts
  const lines = new Map<string, Line<Waiting>>()
  const paces = new Map<string, Pace>()
  let waiting = 0
  let stopLooking: (() => void) | undefined

  const isExpected = ({ model, tenantId }: WaitRequest): boolean =>
    router
      .pools(model, tenantId)
      .some(pool => pool.engines.length > 0 || nowMs() - pool.emptySinceMs < limits.restartMs)

  const enter: WaitQueue['enter'] = request => {
    if (limits.length === 0 || !isExpected(request)) return undefined
    const line = lines.get(request.model) ?? new Line<Waiting>()
    const free = line.size === 0 ? router.pick(request.model, undefined, request) : undefined
    if (free !== undefined) {
      claim(free)
      return { turn: Promise.resolve(free), leave: () => {} }
    }
    lines.set(request.model, line)
    return join(line, request)
  }

  const join = (line: Line<Waiting>, request: WaitRequest): Place => {
    let callOff = (): void => {}
    const { promise, resolve, reject } = Promise.withResolvers<Engine | undefined>()
    const waiter: Waiting = {
      ...request,
      sinceMs: nowMs(),
      settle: engine => {
        callOff()
        resolve(engine)
      },
      refuse: error => {
        callOff()
        reject(error)
      },
    }
    if (!makeRoom(line, request)) {
      waiter.refuse(fullLine(request.model, line.size))
      return { turn: promise, leave: () => {} }
    }
    line.join(waiter)
    waiting++
    callOff = after(limits.maxWaitMs, () => {
      if (drop(line, waiter)) waiter.refuse(tooLong(request.model))
    })
    look()
    return {
      turn: promise,
      leave: () => {
        if (drop(line, waiter)) waiter.settle(undefined)
      },
    }
  }

  /** In a full line, who has most gives up its newest place to who has less. */
  const makeRoom = (line: Line<Waiting>, { model, keyId }: WaitRequest): boolean => {
    if (line.size < limits.length) return true
    const greedy = line.greediest(keyId)
    if (greedy === undefined || !drop(line, greedy)) return false
    greedy.refuse(fullLine(model, line.size))
    return true
  }

  const drop = (line: Line<Waiting>, waiter: Waiting): boolean => {
    if (!line.leave(waiter)) return false
    left(waiter.model, line)
    return true
  }

  const left = (model: string, line: Line<Waiting>): void => {
    waiting--
    if (line.size === 0) lines.delete(model)
    if (waiting > 0) return
    stopLooking?.()
    stopLooking = undefined
  }

  /** Of all lines that the engine can serve, the one whose next has waited longest. */
  const nextFor = (engine: Engine): Waiting | undefined => {
    let first: Waiting | undefined
    for (const { model } of engine.pools ?? []) {
      const waiter = lines
        .get(model)
        ?.next(({ tenantId }) => router.mayUse(engine.cellId, tenantId))
      if (waiter !== undefined && (first === undefined || waiter.sinceMs < first.sinceMs))
        first = waiter
    }
    return first
  }

  const hand = (engine: Engine, waiter: Waiting): void => {
    const line = lines.get(waiter.model) as Line<Waiting>
    line.take(waiter)
    left(waiter.model, line)
    pace(waiter.model).turn(nowMs())
    claim(engine)
    waiter.settle(engine)
  }

  const offer: WaitQueue['offer'] = (engine, places = capacity(engine)) => {
    for (let place = 0; place < places && waiting > 0; place++) {
      if (isFull(engine, nowMs())) return
      const waiter = nextFor(engine)
      if (waiter === undefined) return
      hand(engine, waiter)
    }
  }

  /** What a report or the end of a request of ours does not tell: others have left a cell. */
  const look = (): void => {
    stopLooking ??= after(LOOK_AGAIN_MS, () => {
      stopLooking = undefined
      for (const model of [...lines.keys()]) serve(model)
      if (waiting > 0) look()
    })
  }

  const serve = (model: string): void => {
    for (;;) {
      let engine: Engine | undefined
      const waiter = lines.get(model)?.next(next => {
        engine = router.pick(model, undefined, next)
        return engine !== undefined
      })
      if (waiter === undefined || engine === undefined) return
      hand(engine, waiter)
    }
  }

  const pace = (model: string): Pace => {
    const known = paces.get(model) ?? new Pace()
    paces.set(model, known)
    return known
  }

  const fullLine = (model: string, length: number): ShoalError =>
    new ShoalError('cell_unavailable', `${length} requests wait for ${model}`, {
      retryAfterSeconds: retryAfter(pace(model).betweenMs * length),
    })

  const tooLong = (model: string): ShoalError => {
    const seconds = limits.maxWaitMs / 1000
    const message = `no cell had room for ${model} within ${seconds} s`
    return new ShoalError('cell_unavailable', message, {
      retryAfterSeconds: retryAfter(limits.maxWaitMs),
    })
  }

  return {
    enter,
    freed: engine => {
      noteRoom(engine)
      offer(engine, 1)
    },
    offer,
    lengths: () => new Map([...lines].map(([model, line]) => [model, line.size])),
    close: () => {
      stopLooking?.()
      for (const [model, line] of [...lines])
        for (let next = line.next(() => true); next; next = line.next(() => true)) {
          drop(line, next)
          next.refuse(new ShoalError('draining', `nobody is served any more: ${model}`))
        }
    },
  }
}

/** Mean time between two turns of a line. */
class Pace {
  betweenMs = 1000
  #lastMs: number | undefined

  turn(nowMs: number): void {
    const passedMs = nowMs - (this.#lastMs ?? nowMs - this.betweenMs)
    this.#lastMs = nowMs
    this.betweenMs += SHARE * (Math.min(passedMs, 60_000) - this.betweenMs)
  }
}

/** Whole seconds, 1 to 60. */
const retryAfter = (milliseconds: number): number =>
  Math.min(60, Math.max(1, Math.ceil(milliseconds / 1000)))

const later = (milliseconds: number, run: () => void): (() => void) => {
  const timer = setTimeout(run, milliseconds)
  timer.unref()
  return () => clearTimeout(timer)
}
