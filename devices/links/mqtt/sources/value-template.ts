import { readPointer } from '../../../declared/pointer.ts'
import type { Payload } from '../found-device.ts'

/** Reads a value out of a payload. */
type ReadValue = (payload: Payload) => unknown

/** `.name`, `['name']` or `[0]`, as often as it takes. */
const STEP = /\.(\w{1,64})|\[['"]([^'"\]]{1,64})['"]\]|\[(\d{1,4})\]/g
/** Templates that only choose a value; filters that round or convert it are left out. */
const TEMPLATE =
  /^\{\{\s*(?:value_json((?:\.\w{1,64}|\[['"][^'"\]]{1,64}['"]\]|\[\d{1,4}\])*)|value)\s*(?:\|\s*(?:float|int|round|string)(?:\([^()]{0,16}\))?\s*)*\}\}$/

/**
 * Reader for a value template of Home Assistant. Templates are programs in Jinja; only those that
 * choose a value are understood.
 * @returns undefined for a template that is not understood
 */
export const parseValueTemplate = (template: string | undefined): ReadValue | undefined => {
  if (template === undefined) return ({ text }) => text
  const match = TEMPLATE.exec(template.trim())
  if (match === null) return undefined
  if (!template.includes('value_json')) return ({ text }) => text
  const parts = [...(match[1] ?? '').matchAll(STEP)].map(([, name, quoted, index]) =>
    (name ?? quoted ?? index ?? '').replaceAll('~', '~0').replaceAll('/', '~1'),
  )
  const pointer = parts.map(part => `/${part}`).join('')
  return ({ json }) => readPointer(json, pointer)
}
