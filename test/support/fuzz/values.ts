import fc from 'fast-check'

type Schema = Record<string, unknown>

/** Ids that name something, by the name of their field. */
export type ValuePool = Readonly<Record<string, readonly string[]>>

/**
 * Nothing that is drawn here leads anywhere: an address that the coordinator would call is one that
 * it refuses.
 */
const LINKS = [
  'https://127.0.0.1/',
  'https://10.0.0.1/x',
  'http://[::1]:9/',
  'https://localhost',
  'x:',
]
const ODD_TEXTS = [
  '',
  ' ',
  '\u0000',
  '../../etc/passwd',
  '%2e%2e',
  "' OR 1=1 --",
  '<b>',
  '\u202e',
  'ａ',
  '💥',
  '-1',
  'null',
  'constructor',
  '__proto__',
]

const oddText = fc.oneof(
  fc.constantFrom(...ODD_TEXTS, ...LINKS),
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
)

/** Anything that JSON can hold, small. */
const anyJson = fc.jsonValue({ maxDepth: 3 })

/** Values of a published schema; now and then something that may not fit it. */
export const arbitraryFor = (
  schema: Schema,
  field: string,
  pool: ValuePool,
  depth = 0,
): fc.Arbitrary<unknown> =>
  fc.oneof(
    { arbitrary: drawFitting(schema, field, pool, depth), weight: 12 },
    { arbitrary: oddText, weight: 1 },
    { arbitrary: anyJson, weight: 1 },
  )

const drawFitting = (
  schema: Schema,
  field: string,
  pool: ValuePool,
  depth: number,
): fc.Arbitrary<unknown> => {
  const known = pool[field]
  if (known !== undefined && known.length > 0)
    return fc.oneof(
      { arbitrary: fc.constantFrom(...known), weight: 3 },
      { arbitrary: text(schema), weight: 1 },
    )
  const { enum: choices, const: constant, anyOf, oneOf, type, $ref } = schema
  if ($ref !== undefined || depth > 5) return anyJson
  if (constant !== undefined) return fc.constant(constant)
  if (Array.isArray(choices)) return fc.constantFrom(...choices)
  const parts = (anyOf ?? oneOf) as Schema[] | undefined
  if (parts !== undefined)
    return fc.oneof(...parts.map(part => drawFitting(part, field, pool, depth + 1)))
  if (Array.isArray(type))
    return fc.oneof(...type.map(each => drawFitting({ ...schema, type: each }, field, pool, depth)))
  if (type === 'object') return objectOf(schema, pool, depth)
  if (type === 'array')
    return fc.array(arbitraryFor((schema.items ?? {}) as Schema, field, pool, depth + 1), {
      maxLength: Math.min(Number(schema.maxItems ?? 4), 4),
    })
  if (type === 'integer' || type === 'number') return numberOf(schema, type)
  if (type === 'boolean') return fc.boolean()
  if (type === 'null') return fc.constant(null)
  return type === 'string' ? text(schema) : anyJson
}

const numberOf = ({ minimum, maximum }: Schema, type: string): fc.Arbitrary<unknown> => {
  const [min, max] = [Number(minimum ?? -1000), Number(maximum ?? 100_000)]
  const inside =
    type === 'integer'
      ? fc.integer({ min: Math.ceil(min), max: Math.floor(Math.max(min, max)) })
      : fc.double({ min, max: Math.max(min, max), noNaN: true })
  return fc.oneof(
    { arbitrary: inside, weight: 6 },
    { arbitrary: fc.constantFrom(0, -1, 1e300, 2 ** 53, 0.5), weight: 1 },
  )
}

const text = ({ maxLength, format }: Schema): fc.Arbitrary<string> => {
  if (format === 'uri') return fc.constantFrom(...LINKS)
  if (format === 'date-time')
    return fc.constantFrom('2026-11-20T00:00:00Z', '2020-01-01T00:00:00Z', 'yesterday')
  return fc.oneof(
    fc.constantFrom(
      'x',
      '24h',
      'a-b',
      'gate.production-deploy',
      'model-a:7b',
      'https://127.0.0.1/',
    ),
    fc.string({ maxLength: Math.min(Number(maxLength ?? 30), 30) }),
    oddText,
  )
}

const objectOf = (schema: Schema, pool: ValuePool, depth: number): fc.Arbitrary<unknown> => {
  const properties = (schema.properties ?? {}) as Record<string, Schema>
  const required = new Set((schema.required ?? []) as string[])
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, field]) => [
      name,
      arbitraryFor(field, name, pool, depth + 1),
    ]),
  )
  const whole = fc.record(fields, {
    requiredKeys: Object.keys(fields).filter(name => required.has(name)),
  })
  return fc.oneof(
    { arbitrary: whole, weight: 10 },
    { arbitrary: fc.record(fields, { requiredKeys: [] }), weight: 2 },
    {
      arbitrary: fc
        .tuple(whole, fc.dictionary(fc.string({ maxLength: 10 }), anyJson, { maxKeys: 2 }))
        .map(([own, more]) => ({ ...own, ...more })),
      weight: 1,
    },
  )
}
