/** `{{ name | filter }}` */
const EXPRESSION = /\{\{([^{}]{0,128})\}\}/
const VARIABLE = /^\s*([a-z_]{1,32})\s*((?:\|\s*[a-z_]{1,16}\s*){0,4})$/
const FILTER = /\|\s*([a-z_]+)/g
/** Placeholder of a parameter in a payload. */
const PLACEHOLDER = /\{[a-z][a-z0-9_]*\}/

type Filter = (text: string) => string | undefined

const toInteger: Filter = text => (/^-?\d{1,9}$/.test(text) ? String(Number(text)) : undefined)

const FILTERS: Readonly<Record<string, Filter>> = {
  string: text => text,
  trim: text => text.trim(),
  lower: text => text.toLowerCase(),
  upper: text => text.toUpperCase(),
  int: toInteger,
  round: toInteger,
  tojson: text => JSON.stringify(text),
}
/** Filters that leave a whole number as it is. */
const NUMERIC: readonly string[] = ['string', 'int', 'round', 'tojson']

/**
 * Payload that a command template of Home Assistant makes. Templates are programs in Jinja; only those
 * that write variables into a text are understood. A variable is a text, or the placeholder of a
 * number: `{percent}`.
 * @returns undefined for a template that is not understood
 */
export const renderCommand = (
  template: string | undefined,
  variables: Readonly<Record<string, string>>,
): string | undefined => {
  if (template === undefined) return variables.value
  // every second part is an expression
  const parts = template.split(EXPRESSION).map((part, at) => {
    if (at % 2 === 1) return renderExpression(part, variables)
    return /\{[{%#]/.test(part) || PLACEHOLDER.test(part) ? undefined : part
  })
  return parts.includes(undefined) ? undefined : parts.join('').trim()
}

const renderExpression = (
  expression: string,
  variables: Readonly<Record<string, string>>,
): string | undefined => {
  const [, name = '', filters = ''] = VARIABLE.exec(expression) ?? []
  const names = [...filters.matchAll(FILTER)].map(([, filter = '']) => filter)
  const value = Object.hasOwn(variables, name) ? variables[name] : undefined
  if (value !== undefined && PLACEHOLDER.test(value))
    return names.every(filter => NUMERIC.includes(filter)) ? value : undefined
  return names.reduce<string | undefined>(
    (text, filter) =>
      text !== undefined && Object.hasOwn(FILTERS, filter) ? FILTERS[filter]?.(text) : undefined,
    value,
  )
}
