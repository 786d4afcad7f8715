import * as z from 'zod'
import type { SightingFacts, SightingKey } from '../../../discovery/sighting.ts'

const AnyKey = z.looseObject({ kind: z.string(), value: z.string() })

/** Key as a coordinator of any version has stored it; a later one knows more kinds. */
export const StoredKey = z.custom<SightingKey>(
  value => AnyKey.safeParse(value).success,
  'expected a key',
)

/**
 * Facts as a coordinator of any version has stored them: it checked their sighting, and every batch
 * reads many of them.
 */
export const StoredFacts = z.custom<SightingFacts>(
  value => typeof value === 'object' && value !== null,
  'expected facts',
)
