import { XMLParser } from 'fast-xml-parser'
import { isScalar, parseDocument as parseYamlDocument, visit } from 'yaml'
import { DocumentError, type Reading } from './document.ts'

/**
 * Parses text of a format.
 * @throws DocumentError for a damaged text; the process bounds time and memory
 */
export const parseDocument = (text: string, reading: Reading): unknown => {
  const { format } = reading
  if (format === 'text') return text
  try {
    if (format === 'json') return JSON.parse(text)
    return format === 'yaml' ? parseYaml(text) : parseXml(text, reading)
  } catch (error) {
    if (error instanceof DocumentError) throw error
    if (error instanceof RangeError) throw new DocumentError('excessive', 'is too deep')
    throw new DocumentError('damaged', describeFault(format, error))
  }
}

/** First line of the message, without the text that parsers quote after it. */
const describeFault = (format: string, error: unknown): string => {
  const [line = ''] = (error as Error).message.split('\n')
  return `is not valid ${format.toUpperCase()} (${line.replace(/:$/, '').slice(0, 200)})`
}

/** Keys are compared here, because the library compares each with all others of its map. */
const parseYaml = (text: string): unknown => {
  const document = parseYamlDocument(text, { logLevel: 'silent', uniqueKeys: false })
  const [error] = document.errors
  if (error !== undefined) throw error
  visit(document, {
    Map: (_key, map) => requireUniqueKeys(map.items.map(({ key }) => key)),
  })
  return document.toJS({ maxAliasCount: 100 })
}

const requireUniqueKeys = (keys: readonly unknown[]): void => {
  const seen = new Set<unknown>()
  for (const key of keys) {
    const name = isScalar(key) ? key.value : key
    if (seen.has(name)) throw new Error('Map keys must be unique')
    seen.add(name)
  }
}

/** Entities are not expanded: they could grow without bound, and readers need the five of XML only. */
const parseXml = (text: string, { lists = [], dropsPrefixes = false }: Reading): unknown =>
  new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: '@',
    processEntities: false,
    parseTagValue: false,
    removeNSPrefix: dropsPrefixes,
    isArray: name => lists.includes(name),
  }).parse(text)
