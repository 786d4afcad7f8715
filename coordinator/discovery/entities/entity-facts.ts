import type { SightingFacts } from '../../../discovery/sighting.ts'
import type { EntityView } from './entity-query.ts'

/** Values of an entity without their sources. */
export const readFacts = ({ fields }: EntityView): SightingFacts =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, (field as { value: unknown }).value]),
  )
