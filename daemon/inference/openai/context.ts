import type { CatalogueEntry } from '../../../shared/catalogue.ts'
import type { Asked } from '../admission.ts'
import type { EngineEvent, Work } from '../jobs.ts'

/** What the routes need of the engines. */
export interface EngineView {
  find(model: string):
    | {
        entry: CatalogueEntry
        engine: EngineDoor
      }
    | undefined
}

export interface EngineDoor {
  submit(
    work: Work,
    bytes: number,
    listener: (event: EngineEvent) => void,
    how?: Pick<Asked, 'follows'>,
  ): () => void
}

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
