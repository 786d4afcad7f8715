import { createFigures, type Figures } from './figures.ts'

/** Counters of the coordinator's parts. */
export const openFigures = (): { figures: Figures } => ({ figures: createFigures() })
