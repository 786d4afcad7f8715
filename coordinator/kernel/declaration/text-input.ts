import * as z from 'zod'

/** Converts the text of a query or address to the type of its field, also as a list of one. */
export const readText = (input: z.ZodObject, name: string, value: unknown): unknown => {
  const schema = Object.hasOwn(input.shape, name) ? input.shape[name] : undefined
  if (schema === undefined || typeof value !== 'string') return value
  const readings = [value, fromText(value), [value]]
  return (
    readings.find(each => schema.safeParse(each).success) ??
    (isList(schema, value) ? [value] : undefined) ??
    readings.find(each => isOfItsKind(schema, each)) ??
    value
  )
}

/**
 * True when only the size or form of a value is wrong: saying that helps more than naming its type.
 */
const isOfItsKind = (schema: z.core.$ZodType, value: unknown): boolean => {
  const { issues = [] } = z.safeParse(schema, value).error ?? {}
  return issues.every(issue => issue.code !== 'invalid_type' || issue.expected === 'int')
}

/** True when the fault of a list with one item is in that item, and should be reported instead. */
const isList = (schema: z.core.$ZodType, value: string): boolean =>
  z.safeParse(schema, [value]).error?.issues[0]?.path.length === 1

const fromText = (text: string): unknown =>
  /^(true|false|-?(0|[1-9]\d*)(\.\d+)?)$/.test(text) ? JSON.parse(text) : text
