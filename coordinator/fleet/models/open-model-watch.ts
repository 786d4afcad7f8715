import type { Catalogue } from '../../../shared/catalogue.ts'
import type { Observation } from '../alerts/alert-rules.ts'
import type { Fleet } from '../cells/fleet.ts'
import type { Router } from '../routing/router.ts'
import type { Models } from './models.ts'
import { observeUnlisted } from './unlisted-models.ts'

interface ModelWatchParts {
  fleet: Pick<Fleet, 'cells'>
  router: Pick<Router, 'expect' | 'forget'>
  models: Pick<Models, 'changes'>
  catalogue: Catalogue
  alertSources: Set<() => Iterable<Observation>>
}

/**
 * Watches for models that cells offer and that the catalogue lacks, and for models that are new in
 * the catalogue, which cells offer a moment later.
 */
export const openModelWatch = (parts: ModelWatchParts): object => {
  const { fleet, router, models, catalogue, alertSources } = parts
  alertSources.add(() => observeUnlisted(fleet.cells(), catalogue))
  let known = listIds(catalogue)
  models.changes.add(() => {
    const present = listIds(catalogue)
    for (const id of present) if (!known.has(id)) router.expect(id)
    for (const id of known) if (!present.has(id)) router.forget(id)
    known = present
  })
  return {}
}

const listIds = (catalogue: Catalogue): Set<string> => new Set(catalogue.map(({ id }) => id))
