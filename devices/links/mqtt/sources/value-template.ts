import { readPointer } from '../../../declared/pointer.ts'
import type { Payload } from '../found-device.ts'
import { toWord } from './fields.ts'

/** Reads a value out of a payload. */
type ReadValue = (payload: Payload) => unknown

/** `.name`, `['name']` or `[0]`, as often as it takes. */
const STEP = /\.(\w{1,64})|\[['"]([^'"\]]{1,64})['"]\]|\[(\d{1,4})\]/g
/** Templates that only choose a value, with filters. */
const TEMPLATE =
  /^\{\{\s*(?:value_json((?:\.\w{1,64}|\[['"][^'"\]]{1,64}['"]\]|\[\d{1,4}\])*)|value)\s*((?:\|\s*[a-z_]{1,16}(?:\([^()]{0,16}\))?\s*){0,8})\}\}$/
const FILTER = /\|\s*([a-z_]+)/g

const asIs = (value: unknown): unknown => value
const written =
  (write: (text: string) => string) =>
  (value: unknown): unknown =>
    value === undefined ? undefined : write(toWord(value))

/** Filters that are understood. A property rounds and converts by itself. */
const FILTERS: Readonly<Record<string, (value: unknown) => unknown>> = {
  float: asIs,
  int: asIs,
  round: asIs,
  string: asIs,
  default: asIs,
  is_defined: asIs,
  lower: written(text => text.toLowerCase()),
  upper: written(text => text.toUpperCase()),
  trim: written(text => text.trim()),
}

/**
 * Reader for a value template of Home Assistant. Templates are programs in Jinja; only those that
 * choose a value are understood.
 * @returns undefined for a template that is not understood
 */
export const parseValueTemplate = (template: string | undefined): ReadValue | undefined => {
  if (template === undefined) return ({ text }) => text
  const [, path, filters = ''] = TEMPLATE.exec(template.trim()) ?? []
  const names = [...filters.matchAll(FILTER)].map(([, name = '']) => name)
  if (!TEMPLATE.test(template.trim()) || !names.every(name => Object.hasOwn(FILTERS, name)))
    return undefined
  const pointer = path === undefined ? undefined : toPointer(path)
  return ({ text, json }) =>
    names.reduce<unknown>(
      (value, name) => FILTERS[name]?.(value),
      pointer === undefined ? text : readPointer(json, pointer),
    )
}

const toPointer = (path: string): string =>
  [...path.matchAll(STEP)]
    .map(([, name, quoted, index]) => (name ?? quoted ?? index ?? '').replaceAll('~', '~0'))
    .map(part => `/${part.replaceAll('/', '~1')}`)
    .join('')
