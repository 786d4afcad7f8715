import { ShoalError } from '../../shared/errors.ts'
import type { Json } from '../profile.ts'

const PLACEHOLDER = /\{([a-z][a-z0-9_]*)\}/g

type Params = Readonly<Record<string, unknown>>

/**
 * Fills `{name}` in the texts of a template. A text that is nothing but one placeholder becomes the
 * value itself; elsewhere the value is written into the text.
 * @throws ShoalError invalid_request for text that could change what the template says
 */
export const fillTemplate = (template: Json, params: Params): Json => {
  if (typeof template === 'string') return fillText(template, params)
  if (Array.isArray(template)) return template.map(each => fillTemplate(each, params))
  if (typeof template !== 'object' || template === null) return template
  return Object.fromEntries(
    Object.entries(template).map(([name, each]) => [name, fillTemplate(each, params)]),
  )
}

const fillText = (text: string, params: Params): Json => {
  const [, only] = /^\{([a-z][a-z0-9_]*)\}$/.exec(text) ?? []
  if (only !== undefined) return (params[only] ?? null) as Json
  return text.replace(PLACEHOLDER, (_all, name: string) => writeValue(name, params[name]))
}

/** Characters by which a value could leave the place that the template gives it. */
const STEERING = /["\\{}\p{Cc}]/u

const writeValue = (name: string, value: unknown): string => {
  const text = String(value ?? '')
  if (!STEERING.test(text)) return text
  throw new ShoalError('invalid_request', `${name} must have no quotes, braces or backslashes`, {
    param: `params.${name}`,
  })
}

/** Names of the placeholders in a template. */
export const listPlaceholders = (template: Json): string[] =>
  [...JSON.stringify(template).matchAll(PLACEHOLDER)].map(([, name = '']) => name)
