import type { Hazard } from '../../shared/wire/command.ts'
import type { Precondition } from '../../shared/wire/plan-part.ts'
import type { EnvelopeSource } from '../../shared/wire/safety-envelope.ts'
import type { Json } from '../profile.ts'

/** Result of one check. */
export interface Finding {
  name: string
  /** Newest reading, or what the plan provides for; null when it is unknown. */
  observed: Json
  limit: Json
  source: EnvelopeSource
  /** `unknown` when the readings do not suffice to tell. */
  verdict: 'holds' | 'fails' | 'unknown'
  /** Names the unknown reading, for people. */
  doubt?: string
}

/** Verdict on a reading; unknown without one. */
export const judge = (
  value: number | undefined,
  isWithin: (value: number) => boolean,
): Finding['verdict'] => {
  if (value === undefined) return 'unknown'
  return isWithin(value) ? 'holds' : 'fails'
}

/** What is unknown stops an unsafe verb; a milder one goes on with a warning. */
export const toPrecondition = (
  { name, observed, limit, source, verdict, doubt }: Finding,
  hazard: Hazard,
): Precondition => {
  const base = { name, observed, limit, source }
  if (verdict !== 'unknown') return { ...base, holds: verdict === 'holds' }
  if (hazard === 'unsafe') return { ...base, holds: false }
  return { ...base, holds: true, warning: doubt ?? 'the reading is unknown or stale' }
}

/** Number for people, without meaningless digits. */
export const roundReading = (value: number): number => Math.round(value * 1000) / 1000
