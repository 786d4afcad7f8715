import type { Catalogue } from '../../../../shared/catalogue.ts'

const DEFAULT_TAG = ':latest'

/**
 * Name of a model in Ollama's lists, which always has a tag: clients add the default one to a name
 * without it before they look for the name in a list.
 */
export const addTag = (id: string): string => (id.includes(':') ? id : `${id}${DEFAULT_TAG}`)

/** Id of a model as the catalogue has it. */
export const modelIdOf = (catalogue: Catalogue, name: string): string => {
  const isListed = (id: string) => catalogue.some(entry => entry.id === id)
  if (!name.endsWith(DEFAULT_TAG) || isListed(name)) return name
  const plain = name.slice(0, -DEFAULT_TAG.length)
  return isListed(plain) ? plain : name
}
