import * as z from 'zod'

/** One value that can be set. */
export interface ConfigKey {
  path: string[]
  schema: z.ZodType
  description: string
  defaultValue: unknown
  /** Environment name, where it does not follow from the path. */
  environment: string | undefined
  /** Value of the system with one variable of the environment in it; replaces the default. */
  provided: string | undefined
  /** True for a value that is never printed: `.meta({ secret: true })`. */
  isHidden: boolean
}

/** Lists every key of a schema, depth first, in schema order. */
export const keysOf = (schema: z.ZodObject, path: string[] = []): ConfigKey[] =>
  Object.entries(schema.shape).flatMap(([name, field]) => {
    const here = [...path, name]
    const { inner, ...rest } = unwrap(field as z.ZodType)
    if (inner instanceof z.ZodObject) return keysOf(inner, here)
    const defaultValue = defaultOf(field as z.ZodType)
    return [{ path: here, schema: inner, defaultValue, ...rest }]
  })

export const flagName = (key: ConfigKey): string => key.path.join('-').replaceAll('_', '-')
export const plainName = (key: ConfigKey): string => `SHOAL_${key.path.join('_').toUpperCase()}`
export const environmentName = (key: ConfigKey): string => key.environment ?? plainName(key)

const unwrap = (schema: z.ZodType) => {
  let inner = schema
  let description = schema.description ?? ''
  let environment = metaText(schema, 'environment')
  let provided = metaText(schema, 'provided')
  let isHidden = schema.meta()?.secret === true
  while (
    inner instanceof z.ZodDefault ||
    inner instanceof z.ZodPrefault ||
    inner instanceof z.ZodOptional
  ) {
    inner = inner.unwrap() as z.ZodType
    description ||= inner.description ?? ''
    environment ??= metaText(inner, 'environment')
    provided ??= metaText(inner, 'provided')
    isHidden ||= inner.meta()?.secret === true
  }
  return { inner, description, environment, provided, isHidden }
}

const metaText = (schema: z.ZodType, name: 'environment' | 'provided'): string | undefined => {
  const text = schema.meta()?.[name]
  return typeof text === 'string' ? text : undefined
}

const defaultOf = (schema: z.ZodType): unknown => {
  const result = schema.safeParse(undefined)
  return result.success ? result.data : undefined
}

export const getAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (at, name) => (at as Record<string, unknown> | null | undefined)?.[name],
    value,
  )
