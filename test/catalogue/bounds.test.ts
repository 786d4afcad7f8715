import t from 'tap'
import { operations } from '../../coordinator/operations/index.ts'
import { type JsonSchema, jsonSchema } from '../../coordinator/operations/json-schema.ts'
import { skills } from '../../coordinator/skills/index.ts'
import { PROFILES } from '../../devices/profiles/index.ts'

type Schema = JsonSchema &
  Record<'items' | 'additionalProperties' | 'propertyNames', JsonSchema | false>

/** A whole text of parts of which each has a largest number. */
const isBoundedPattern = (pattern: unknown): boolean =>
  typeof pattern === 'string' &&
  /^\^.*\$$/.test(pattern) &&
  !/[*+]|,\}/.test(pattern.replaceAll(/\[[^\]]*\]/g, ''))

/** Places in an input where somebody could send without end. */
const findUnbounded = (schema: JsonSchema, at: string): string[] => {
  const { type, items, additionalProperties, properties = {} } = schema as Partial<Schema>
  if ('x-max-bytes' in schema) return []
  const branches = ['anyOf', 'oneOf', 'allOf', 'prefixItems'].flatMap(
    name => (schema[name] ?? []) as JsonSchema[],
  )
  const inside = [
    ...branches.flatMap(branch => findUnbounded(branch, at)),
    ...Object.entries(properties as object).flatMap(([name, member]) =>
      findUnbounded(member, `${at}.${name}`),
    ),
    ...(items ? findUnbounded(items, `${at}[]`) : []),
  ]
  if ('enum' in schema || 'const' in schema) return inside
  if (type === 'string' && !('maxLength' in schema) && !isBoundedPattern(schema.pattern))
    inside.push(`${at}: a text`)
  if (type === 'array' && items !== false && !('maxItems' in schema)) inside.push(`${at}: a list`)
  if (type === 'object' && additionalProperties !== false && !('maxProperties' in schema))
    inside.push(`${at}: an object`)
  if (type === undefined && branches.length === 0) inside.push(`${at}: anything`)
  return inside
}

t.test('every text, list and object of an operation input has a maximum size', async t => {
  const all = [...operations, ...skills]
  t.strictSame(
    all.flatMap(({ id, input }) => findUnbounded(jsonSchema(input), id)),
    [],
  )
})

t.test('every text, list and object of the parameters of a device has a maximum size', async t => {
  const verbs = PROFILES.flatMap(({ id, verbs }) =>
    Object.entries(verbs).map(([name, { params }]) => ({ at: `${id} ${name}`, params })),
  )
  t.strictSame(
    verbs.flatMap(({ at, params }) => findUnbounded(jsonSchema(params), at)),
    [],
  )
})

t.test('the check reports a missing bound', async t => {
  const schema = {
    type: 'object',
    additionalProperties: false,
    properties: {
      a: { type: 'string' },
      b: { type: 'array', maxItems: 1, items: { type: 'string', maxLength: 1 } },
      c: { type: 'array', items: { type: 'string' } },
      d: {},
      e: { type: 'object', additionalProperties: {} },
      g: { type: 'string', pattern: '^[0-9a-f]{64}$' },
      h: { type: 'string', pattern: '^[0-9a-f]{6,}$' },
      i: { type: 'string', pattern: '^a+$' },
      f: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    },
  }
  t.strictSame(findUnbounded(schema, 'x'), [
    ...['x.a: a text', 'x.c[]: a text', 'x.c: a list', 'x.d: anything', 'x.e: an object'],
    ...['x.h: a text', 'x.i: a text', 'x.f: a text'],
  ])
})
