import type { Resource, ResourceTemplateType } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { pathFields } from '../../kernel/declaration/declaration.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import { readText } from '../../kernel/declaration/text-input.ts'

const SCHEME = 'shoal://'

/** The agent card, which is no operation. */
export const CARD_URI = `${SCHEME}card`

/**
 * True when an address suffices to read the operation: a read-only operation whose input is all in
 * its path.
 */
export const isReadable = ({ method, effect, input, path }: Operation): boolean => {
  const named = pathFields(path)
  return (
    method === 'GET' &&
    effect === 'read' &&
    Object.entries(input.shape).every(
      ([name, field]) => named.includes(name) || mayBeAbsent(name, field as z.ZodType),
    )
  )
}

/**
 * True when the field may be absent. The whole object is parsed, since some optional fields reject
 * `undefined`.
 */
const mayBeAbsent = (name: string, field: z.ZodType): boolean =>
  z.object({ [name]: field }).safeParse({}).success

/** `/v1/cells/{cell_id}` is `shoal://cells/{cell_id}`. */
const uriOf = ({ path }: Operation): string => SCHEME + path.replace(/^\/(v1\/)?/, '')

const isTemplate = (operation: Operation): boolean => operation.path.includes('{')

const describeResource = ({ id, description }: Pick<Operation, 'id' | 'description'>) => ({
  name: id,
  description,
  mimeType: 'application/json',
})

export const resourcesOf = (operations: readonly Operation[]): Resource[] => [
  { uri: CARD_URI, ...describeResource({ id: 'agent-card', description: CARD }) },
  ...operations
    .filter(each => !isTemplate(each))
    .map(each => ({ uri: uriOf(each), ...describeResource(each) })),
]

const CARD = 'The agent card: identity and skills of this agent.'

export const templatesOf = (operations: readonly Operation[]): ResourceTemplateType[] =>
  operations
    .filter(isTemplate)
    .map(each => ({ uriTemplate: uriOf(each), ...describeResource(each) }))

/** Operation and input for an address; undefined if there is none. */
export const readingOf = (
  uri: string,
  operations: readonly Operation[],
): { operation: Operation; input: object } | undefined => {
  if (!uri.startsWith(SCHEME)) return undefined
  const [place = '', query = ''] = uri.slice(SCHEME.length).split('?')
  const segments = place.split('/')
  const fits = operations
    .map(operation => ({ operation, named: matchTemplate(uriOf(operation), segments) }))
    .filter(({ named }) => named !== undefined)
    // an address that is written out goes before one with names in it
    .sort((a, b) => Number(isTemplate(a.operation)) - Number(isTemplate(b.operation)))[0]
  if (fits?.named === undefined) return undefined
  const { operation, named } = fits
  const asked = [...new URLSearchParams(query)].map(
    ([name, value]) => [name, readText(operation.input, name, value)] as const,
  )
  return { operation, input: { ...Object.fromEntries(asked), ...named } }
}

const matchTemplate = (
  template: string,
  segments: string[],
): Record<string, string> | undefined => {
  const wanted = template.slice(SCHEME.length).split('/')
  if (wanted.length !== segments.length) return undefined
  const named: Record<string, string> = {}
  for (const [at, want] of wanted.entries()) {
    const segment = segments[at] ?? ''
    const name = /^\{(\w+)\}$/.exec(want)?.[1]
    if (name === undefined) {
      if (want !== segment) return undefined
    } else named[name] = decodeSegment(segment)
  }
  return named
}

/** Invalid percent-encoding is taken literally. */
const decodeSegment = (segment: string): string => {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
