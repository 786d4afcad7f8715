import * as z from 'zod'

/** A figure or verdict of an answer that nothing is known of. */
export const UnknownField = z.object({
  field: z.string().describe('Path in the answer, such as `tenants[].score`; the field is null.'),
  reason: z.string().describe('Why nothing is known of it.'),
})
export type UnknownField = z.infer<typeof UnknownField>

const reasons = new WeakMap<z.ZodType, string>()

/**
 * Declares a nullable field of an answer as a figure or verdict: its null means that there is no
 * evidence, for this reason, and every answer with such a null names the field under `unknown`.
 * A null that means "none", such as that of a cursor, is not declared so.
 */
export const figure = <S extends z.ZodType>(schema: S, reason: string): S => {
  if (!schema.safeParse(null).success) throw new TypeError(`a figure must be nullable: ${reason}`)
  reasons.set(schema, reason)
  return schema
}

/** Adds the unknown fields of a value at a path to those found before, by field. */
type Search = (value: unknown, path: string, found: Map<string, string>) => void

/** Searches of schemas; undefined for one without figures. */
const searches = new WeakMap<z.ZodType, Search | undefined>()

/** Fields of an answer that are declared as figures and are null, each once. */
export const listUnknown = (schema: z.ZodType, answer: object): UnknownField[] => {
  const found = new Map<string, string>()
  searchOf(schema)?.(answer, '', found)
  return [...found].map(([field, reason]) => ({ field, reason }))
}

const searchOf = (schema: z.ZodType): Search | undefined => {
  if (!searches.has(schema)) {
    // a schema that contains itself is searched once
    searches.set(schema, undefined)
    searches.set(schema, compile(schema))
  }
  return searches.get(schema)
}

const compile = (schema: z.ZodType): Search | undefined => {
  const inner = compileInner(schema)
  const reason = reasons.get(schema)
  if (reason === undefined) return inner
  return (value, path, found) => {
    if (value === null) found.set(path, reason)
    else inner?.(value, path, found)
  }
}

const compileInner = (schema: z.ZodType): Search | undefined => {
  if (schema instanceof z.ZodObject) return searchFields(schema.shape)
  if (schema instanceof z.ZodArray) return searchEach(schema.element as z.ZodType)
  if (schema instanceof z.ZodRecord) return searchEach(schema.valueType as z.ZodType)
  if (schema instanceof z.ZodUnion) return searchAny(schema.options as readonly z.ZodType[])
  if (schema instanceof z.ZodPipe) return searchOf(schema.out as z.ZodType)
  if (!('innerType' in schema.def)) return undefined
  return searchOf(schema.def.innerType as z.ZodType)
}

const searchFields = (shape: Readonly<Record<string, z.ZodType>>): Search | undefined => {
  const fields = Object.entries(shape).flatMap(([name, field]) => {
    const search = searchOf(field)
    return search === undefined ? [] : [{ name, search }]
  })
  if (fields.length === 0) return undefined
  return (value, path, found) => {
    if (typeof value !== 'object' || value === null) return
    for (const { name, search } of fields) {
      const at = path === '' ? name : `${path}.${name}`
      search((value as Record<string, unknown>)[name], at, found)
    }
  }
}

/** Elements of a list, or values of a record, share one path: each figure is named once. */
const searchEach = (element: z.ZodType): Search | undefined => {
  const search = searchOf(element)
  if (search === undefined) return undefined
  return (value, path, found) => {
    if (typeof value !== 'object' || value === null) return
    for (const each of Object.values(value)) search(each, `${path}[]`, found)
  }
}

const searchAny = (options: readonly z.ZodType[]): Search | undefined => {
  const all = options.map(searchOf).filter(search => search !== undefined)
  if (all.length === 0) return undefined
  return (value, path, found) => {
    for (const search of all) search(value, path, found)
  }
}
