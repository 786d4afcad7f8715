import t from 'tap'
import { jsonSchema } from '../../coordinator/kernel/declaration/json-schema.ts'
import { operations } from '../../coordinator/surfaces/catalogue/operations.ts'
import { skills } from '../../coordinator/surfaces/catalogue/skills.ts'
import { PROFILES } from '../../devices/profiles/index.ts'
import { findUnbounded } from '../support/find-unbounded.ts'

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
