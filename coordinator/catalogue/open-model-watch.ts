import type { Catalogue } from '../../shared/catalogue.ts'
import type { Observation } from '../fleet/alert-rules.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { observeUnlisted } from './unlisted-models.ts'

interface ModelWatchParts {
  fleet: Pick<Fleet, 'cells'>
  catalogue: Catalogue
  alertSources: Set<() => Iterable<Observation>>
}

/** Watches for models that cells offer and that the catalogue lacks. */
export const openModelWatch = ({ fleet, catalogue, alertSources }: ModelWatchParts): object => {
  alertSources.add(() => observeUnlisted(fleet.cells(), catalogue))
  return {}
}
