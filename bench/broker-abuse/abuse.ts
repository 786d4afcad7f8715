import type { BrokerTarget } from '../fleet/simulated-cell.ts'

/** Ways of misusing a good credential; `rogue.ts` says what each does. */
export const ABUSES = ['frozen', 'flood', 'huge', 'half-open'] as const
export type Abuse = (typeof ABUSES)[number]

/** Options of a rogue process, passed as JSON in its only argument. */
export interface RogueOptions {
  abuse: Abuse
  target: BrokerTarget
  loginsFile: string
  from: number
  to: number
}
