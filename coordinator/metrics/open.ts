import { createFigures, type Figures } from './figures.ts'

/** Where the parts count what they do. */
export const openFigures = (): { figures: Figures } => ({ figures: createFigures() })
