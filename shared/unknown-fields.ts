import * as z from 'zod'

/** A part of an answer of which something is unknown. */
export const UnknownField = z.object({
  field: z
    .string()
    .describe(
      'Path in the answer, such as `tenants[].score`: a figure or verdict that is null in at least one row, or a list or an object that is incomplete.',
    ),
  reason: z.string().describe('Why nothing, or not all, is known of it.'),
})
export type UnknownField = z.infer<typeof UnknownField>

interface Figure {
  reason: string
  /** Kind of answers that name the null: all, or those without data. */
  named: 'always' | 'empty'
}

/** Figures by their schemas; schemas that are derived by `describe` or `meta` inherit them. */
const figures = z.registry<Figure>()

/**
 * Declares a nullable field of an answer as a figure or verdict: its null means that there is no
 * evidence, for this reason, and every answer with such a null names the field under `unknown`.
 * A null that means "none", such as that of a cursor, is not declared so. Where it means "none" in
 * complete data, such as a median of nobody, `named: 'empty'` names it in answers without data.
 */
export const figure = <S extends z.ZodType>(
  schema: S,
  reason: string,
  { named = 'always' }: Partial<Pick<Figure, 'named'>> = {},
): S => {
  if (!schema.safeParse(null).success) throw new TypeError(`a figure must be nullable: ${reason}`)
  figures.add(schema, { reason, named })
  return schema
}

/** One entry for a field that is unknown for several reasons; none without a reason. */
export const nameUnknown = (field: string, reasons: readonly string[]): UnknownField[] => {
  const [first, ...more] = reasons
  if (first === undefined) return []
  return [{ field, reason: more.length === 0 ? first : `${first}; and ${more.length} more` }]
}

/** Fields of an answer that are declared as figures and are null, each once. */
export const listUnknown = (
  schema: z.ZodType,
  answer: object,
  { isEmpty }: { isEmpty: boolean },
): UnknownField[] => {
  const found = new Map<string, string>()
  searchNulls(schema, answer, '', (path, { reason, named }) => {
    if (named === 'always' || isEmpty) found.set(path, reason)
  })
  return [...found].map(([field, reason]) => ({ field, reason }))
}

const searchNulls = (
  schema: z.ZodType,
  value: unknown,
  path: string,
  tell: (path: string, figure: Figure) => void,
): void => {
  const declared = figures.get(schema)
  if (value === null && declared !== undefined) tell(path, declared)
  else
    for (const { inner, select } of figuredPartsOf(schema))
      for (const [each, at] of select(value, path)) searchNulls(inner, each, at, tell)
}

/** A schema within another one, and the values that it describes, with their paths. */
interface Part {
  inner: z.ZodType
  select: (value: unknown, path: string) => (readonly [unknown, string])[]
}

const figuredParts = new WeakMap<z.ZodType, readonly Part[]>()

/** Parts of a schema that have figures, which are few. */
const figuredPartsOf = (schema: z.ZodType): readonly Part[] => {
  const parts =
    figuredParts.get(schema) ?? listParts(schema).filter(({ inner }) => hasFigures(inner))
  figuredParts.set(schema, parts)
  return parts
}

/** Schemas that were looked at are skipped, since one may contain itself. */
const hasFigures = (schema: z.ZodType, seen = new Set<z.ZodType>()): boolean => {
  if (seen.has(schema)) return false
  seen.add(schema)
  return (
    figures.get(schema) !== undefined ||
    listParts(schema).some(({ inner }) => hasFigures(inner, seen))
  )
}

const listParts = (schema: z.ZodType): Part[] => {
  if (schema instanceof z.ZodObject) return listFields(schema.shape)
  if (schema instanceof z.ZodArray) return [eachOf(schema.element as z.ZodType)]
  if (schema instanceof z.ZodRecord) return [eachOf(schema.valueType as z.ZodType)]
  if (schema instanceof z.ZodUnion) return listOptions(schema.options as readonly z.ZodType[])
  if (schema instanceof z.ZodPipe) return [whole(schema.out as z.ZodType)]
  if (schema instanceof z.ZodLazy) return [whole(schema.unwrap() as z.ZodType)]
  return 'innerType' in schema.def ? [whole(schema.def.innerType as z.ZodType)] : []
}

const whole = (inner: z.ZodType): Part => ({ inner, select: (value, path) => [[value, path]] })

const listFields = (shape: Readonly<Record<string, z.ZodType>>): Part[] =>
  Object.entries(shape).map(([name, inner]) => ({
    inner,
    select: (value, path) =>
      isObject(value) ? [[value[name], path === '' ? name : `${path}.${name}`]] : [],
  }))

/** Elements of a list, or values of a record, share one path: each figure is named once. */
const eachOf = (inner: z.ZodType): Part => ({
  inner,
  select: (value, path) =>
    isObject(value) ? Object.values(value).map(each => [each, `${path}[]`] as const) : [],
})

/** A value is searched by the option that describes it: the first that accepts it. */
const listOptions = (options: readonly z.ZodType[]): Part[] =>
  options.map(inner => ({
    inner,
    select: (value, path) =>
      options.find(option => option.safeParse(value).success) === inner ? [[value, path]] : [],
  }))

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
