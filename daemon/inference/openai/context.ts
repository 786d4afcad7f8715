import type { EngineView } from '../engine-view.ts'

export interface RouteContext {
  engines: EngineView
  /** Unix time, milliseconds. */
  now: () => number
  /** 128 random bits or more, as text. */
  newId: () => string
  /** Random, from 0 to 2^32-2. */
  newSeed: () => number
  /** Runs a function each time a stream's keep-alive is due, until the answer is called. */
  repeat: (run: () => void) => () => void
}
