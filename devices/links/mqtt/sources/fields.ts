import * as z from 'zod'

/* Foreign messages: a field of an unexpected type counts as absent, and unknown ones are dropped. */

export const optional = <T extends z.ZodType>(schema: T) => schema.optional().catch(undefined)

export const Text = optional(z.string().max(256))
export const Num = optional(z.number())

/** The value as an object; an empty one for anything else. */
export const toFields = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}

/** Value of an own field of an object. */
export const fieldOf = (value: unknown, name: string): unknown => {
  const fields = toFields(value)
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}

/** Quality of a wireless signal: 0 % at -100 dBm, 100 % at -50 dBm. */
export const toSignalPercent = (signal_dbm: unknown): number | undefined =>
  typeof signal_dbm === 'number' ? Math.min(100, Math.max(0, 2 * (signal_dbm + 100))) : undefined

/** A number, or a text that is one; undefined for anything else. */
export const toNumber = (value: unknown): number | undefined => {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

/** A value as templates of Home Assistant write it, which are Python's. */
export const toWord = (value: unknown): string => {
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  return value === null ? 'None' : String(value)
}

/** A value by two words; undefined for any other. */
export const toFlag = (value: unknown, on: unknown, off: unknown): boolean | undefined => {
  if (value === on) return true
  return value === off ? false : undefined
}
