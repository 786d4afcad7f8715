import type { EntityDescription } from '../../../discovery/entities/describe-entity.ts'
import type { FactName } from '../../../discovery/entities/resolve-fields.ts'

/** Fields whose words a search finds. */
const FIELDS: readonly FactName[] = [
  'name',
  'hostname',
  'vendor',
  'model',
  'serial',
  'os',
  'location',
  'description',
  'ssid',
  'ip_addresses',
  'mac_addresses',
  'models',
]

/** Most words of one entity and characters of one word that a search finds. */
const MAX_WORDS = 64
const MAX_LENGTH = 64

/** Most words of one query; the others are ignored. */
const MAX_QUERY_WORDS = 8

/**
 * Words by which people find an entity, in lower case: `kitchen-printer.lan` and its parts `kitchen`,
 * `printer` and `lan`. Addresses have no parts.
 */
export const listEntityWords = (
  type: string,
  { fields, keys }: Pick<EntityDescription, 'fields' | 'keys'>,
): Set<string> => {
  const values = FIELDS.flatMap(name => fields[name]?.value ?? [])
  const words = [type, ...values.map(String), ...keys.map(({ value }) => value)].flatMap(splitText)
  const parts = words.flatMap(word => [word, ...word.split(/[-._/@]/).filter(isPart)])
  return new Set(parts.slice(0, MAX_WORDS))
}

/** Words of a query in lower case, each a prefix of a word of an entity. */
export const listQueryWords = (text: string): string[] =>
  [...new Set(splitText(text))].slice(0, MAX_QUERY_WORDS)

/** PostgreSQL stores neither NUL characters nor lone surrogates, which names of devices can contain. */
const splitText = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/[\s\p{Cc},;()"'<>]+/u)
    .filter(Boolean)
    .map(word => word.slice(0, MAX_LENGTH).toWellFormed())

const isPart = (part: string): boolean => part.length > 1 && /\p{L}/u.test(part)
