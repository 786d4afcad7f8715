import type { Catalogue } from '../../../shared/catalogue.ts'

const DEFAULT_TAG = ':latest'

/** Id of a model as the catalogue has it: clients add a tag to a name without one. */
export const modelIdOf = (catalogue: Catalogue, name: string): string => {
  const isListed = (id: string) => catalogue.some(entry => entry.id === id)
  if (!name.endsWith(DEFAULT_TAG) || isListed(name)) return name
  const plain = name.slice(0, -DEFAULT_TAG.length)
  return isListed(plain) ? plain : name
}
