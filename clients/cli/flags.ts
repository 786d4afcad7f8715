import { InvalidArgumentError, Option } from 'commander'
import { ShoalError } from '../../shared/errors.ts'
import { escapeHidden } from '../../shared/visible.ts'
import type { Field, FieldSchema } from './document.ts'

/**
 * Flags of the program itself; a field of the same name becomes `--input-url`. `--format` is that of
 * the text of an operation which has formats of its own.
 */
const TAKEN = [
  ...['url', 'key', 'tenant', 'profile', 'ca-file', 'output'],
  ...['json', 'wait', 'watch', 'idempotency-key', 'help', 'version'],
]

/** `spacing_m` is `--spacing-m`. */
export const flagOf = (name: string): string => {
  const kebab = name.replaceAll('_', '-')
  return TAKEN.includes(kebab) ? `input-${kebab}` : kebab
}

/** The flags of one field; a boolean has one for yes and one for no. */
export const optionsOf = (field: Field): Option[] => {
  const flag = `--${flagOf(field.name)}`
  const text = descriptionOf(field)
  const schema = withoutNull(field.schema)
  const type = typeOf(schema)
  if (type === 'boolean')
    return [new Option(flag, text), new Option(flag.replace('--', '--no-'), 'the opposite')]
  const choices = textsOf(schema.enum)
  if (choices.length > 0) return [new Option(`${flag} <choice>`, text).choices(choices)]
  if (type === 'string') return [new Option(`${flag} <text>`, text)]
  if (isTextList(field)) {
    const words = listChoices(field)
    return words.length > 0
      ? [new Option(`${flag} <choice...>`, text).choices(words)]
      : [new Option(`${flag} <text...>`, text)]
  }
  if (type === 'object' && takesTexts(schema))
    return [new Option(`${flag} <name=value...>`, text).argParser(pair)]
  const [placeholder, parse] =
    type === 'integer' || type === 'number' ? ['<number>', number] : ['<json>', json]
  return [new Option(`${flag} ${placeholder}`, text).argParser(parse)]
}

/** True for a field that is a list of texts; as an argument it takes all words that follow. */
export const isTextList = ({ schema }: Field): boolean => {
  const list = withoutNull(schema)
  return typeOf(list) === 'array' && list.items?.type === 'string'
}

/** Texts that the members of a list may be; none when any text may be. */
export const listChoices = ({ schema }: Field): string[] => textsOf(withoutNull(schema).items?.enum)

/** Values of the fields that were typed; the others get the coordinator's defaults. */
export const readTypedValues = (
  fields: readonly Field[],
  values: Record<string, unknown>,
  wasTyped: (attribute: string) => boolean,
): Record<string, unknown> =>
  Object.fromEntries(
    fields.flatMap(({ name }) => {
      const attribute = new Option(`--${flagOf(name)}`).attributeName()
      return wasTyped(attribute) ? [[name, values[attribute]]] : []
    }),
  )

/**
 * Members of an object as arguments: `name=value`, where a value that is JSON counts as that unless
 * the object takes texts alone; or the whole object as JSON.
 */
export const parsePairs = (args: readonly string[], field: Field): Record<string, unknown> => {
  const [first = ''] = args
  if (args.length === 1 && first.startsWith('{')) return jsonObject(first)
  const pairs = args.map(text => {
    const at = text.indexOf('=')
    if (at < 1)
      throw new ShoalError('invalid_request', `${text} is not name=value`, { param: field.name })
    const value = text.slice(at + 1)
    return [text.slice(0, at), takesTexts(field.schema) ? value : parseValue(value)]
  })
  return Object.fromEntries(pairs)
}

const parseValue = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** An object of texts, such as labels. */
const takesTexts = ({ additionalProperties: others }: FieldSchema): boolean =>
  typeof others === 'object' && others !== null && 'type' in others && others.type === 'string'

const pair = (text: string, before: Record<string, string> = {}): Record<string, string> => {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('name=value is needed')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}

const typeOf = ({ type }: FieldSchema): string =>
  (typeof type === 'string' ? type : type?.find(each => each !== 'null')) ?? 'json'

/** Schema without its null alternative, which is expressed by leaving out the flag. */
const withoutNull = (schema: FieldSchema): FieldSchema => {
  const others = schema.anyOf?.filter(({ type }) => type !== 'null') ?? []
  return others.length === 1 ? { ...others[0], ...schema } : schema
}

const textsOf = (values: unknown[] = []): string[] =>
  values.every(value => typeof value === 'string') ? values : []

const descriptionOf = ({ required, schema }: Field): string => {
  const { description = '', default: preset } = schema
  const notes = [
    required ? 'required' : '',
    preset === undefined ? '' : `default: ${JSON.stringify(preset)}`,
  ].filter(note => note !== '')
  return escapeHidden(
    [description, notes.length > 0 ? `(${notes.join(', ')})` : ''].join(' ').trim(),
  )
}

const number = (text: string): number => {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value))
    throw new InvalidArgumentError('a number is needed')
  return value
}

const json = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new InvalidArgumentError('JSON is needed')
  }
}

/** The whole input as one JSON object. */
export const jsonObject = (text: string): Record<string, unknown> => {
  const value = json(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InvalidArgumentError('a JSON object is needed')
  return value as Record<string, unknown>
}
