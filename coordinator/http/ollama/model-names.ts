import type { CatalogueEntry } from '../../../shared/catalogue.ts'

const DEFAULT_TAG = ':latest'

/** Id of a model as the catalogue has it: clients add a tag to a name without one. */
export const modelIdOf = (
  models: { has(id: string): boolean },
  name: string,
): CatalogueEntry['id'] => {
  if (models.has(name) || !name.endsWith(DEFAULT_TAG)) return name
  const plain = name.slice(0, -DEFAULT_TAG.length)
  return models.has(plain) ? plain : name
}
