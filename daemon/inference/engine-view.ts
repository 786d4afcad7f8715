import type { CatalogueEntry } from '../../shared/catalogue.ts'
import type { SlotRequest } from './admission.ts'
import type { EngineEvent, JobWork } from './jobs.ts'

/** Engines as the routes see them. */
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
    work: JobWork,
    bytes: number,
    listener: (event: EngineEvent) => void,
    how?: Pick<SlotRequest, 'follows'>,
  ): () => void
}
