import { type CellEngine, noteEngineRefusal } from './engine.ts'
import type { Router } from './router.ts'
import type { AnswerTiming, Trails } from './trails.ts'
import type { Place, WaitQueue, WaitRequest } from './wait-queue.ts'

/** Outcome of a request on an engine; `busy` means refused for lack of room. */
export type End = 'served' | 'busy' | 'failed' | 'cancelled'

/** The way of one request to its cells. */
export interface RequestLane {
  pick(tried: ReadonlySet<string>): CellEngine | undefined
  /** A place in line for when no cell can be asked now; undefined when waiting is of no use. */
  wait(): Place | undefined
  /** Reports that the request has left an engine; called after its place was released. */
  reportEnd(engine: CellEngine, end: End, service?: AnswerTiming): void
}

export type RequestLanes = (request: WaitRequest) => RequestLane

interface LaneParts {
  router: Pick<Router, 'pick'>
  queue: Pick<WaitQueue, 'enter' | 'offerPlace'>
  trails: Trails
  /** Monotonic milliseconds. */
  nowMs: () => number
}

export const createLanes =
  ({ router, queue, trails, nowMs }: LaneParts): RequestLanes =>
  request => ({
    pick: tried => router.pick(request.model, tried, request),
    wait: () => queue.enter(request),
    reportEnd: (engine, end, service) => {
      if (end === 'busy') {
        noteEngineRefusal(engine, nowMs())
        return
      }
      if (end === 'failed') {
        // its link may be going down with all that it has: nobody who waits is sent after them
        trails.wash(engine)
        return
      }
      if (service !== undefined) trails.deposit(engine, request.model, service)
      queue.offerPlace(engine)
    },
  })
