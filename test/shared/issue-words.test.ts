import t from 'tap'
import * as z from 'zod'
import '../../shared/issue-words.ts'

const issueMessageOf = (schema: z.ZodType, value: unknown): string | undefined =>
  schema.safeParse(value).error?.issues[0]?.message

t.test('a validation issue of a value', async t => {
  for (const [schema, value, says] of [
    [z.number().max(2), 3, 'must be at most 2'],
    [z.number().lt(2), 2, 'must be less than 2'],
    [z.int().min(1), 0, 'must be at least 1'],
    [z.number().positive(), 0, 'must be more than 0'],
    [z.string().min(1), '', 'must have at least 1 character'],
    [z.string().max(64), 'a'.repeat(65), 'must have at most 64 characters'],
    [z.array(z.string()).max(4), ['a', 'b', 'c', 'd', 'e'], 'must have at most 4 items'],
    [z.array(z.string()).length(2), ['a'], 'must have exactly 2 items'],
    [z.string(), 5, 'must be a string'],
    [z.number(), '5', 'must be a number'],
    [z.int(), 1.5, 'must be an integer'],
    [z.boolean(), 'yes', 'must be true or false'],
    [z.array(z.string()), 'x', 'must be a list'],
    [z.strictObject({}), [], 'must be an object'],
    [z.record(z.string(), z.string()), 5, 'must be an object'],
    [z.number().multipleOf(5), 7, 'must be a multiple of 5'],
    [z.enum(['float', 'base64']), 'hex', 'must be one of float, base64'],
    [z.literal('function'), 'tool', 'must be function'],
    [z.string().regex(/^[a-z]+$/), 'A', 'must match /^[a-z]+$/'],
    [z.iso.datetime(), 'now', 'must be a date and time such as 2026-11-20T08:00:00Z'],
    [z.url(), 'x', 'must be an address such as https://shoal.example'],
    [z.string().startsWith('gate.'), 'x', 'must begin with gate.'],
    [z.strictObject({}), { a: 1, b: 2 }, 'unknown field a, b'],
    [z.strictObject({}), { ['n'.repeat(99)]: 1 }, `unknown field ${'n'.repeat(63)}…`],
    [
      z.strictObject({}),
      { a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1 },
      'unknown field a, b, c, d, e and 2 more',
    ],
  ] as const)
    t.test(`is described as "${says}"`, async t => t.equal(issueMessageOf(schema, value), says))
})

t.test('a validation issue of a union', async t => {
  const stop = z.union([z.string(), z.array(z.string()).max(2), z.null()])
  const pair = z.union([z.string(), z.strictObject({ name: z.string() })])
  const either = z.union([z.string().min(3), z.array(z.string()).max(2)])
  const typed = z.discriminatedUnion('type', [
    z.object({ type: z.literal('text') }),
    z.object({ type: z.literal('json_object') }),
  ])
  for (const [title, schema, value, says] of [
    [
      'the branch of the right kind is described',
      stop,
      ['a', 'b', 'c'],
      'must have at most 2 items',
    ],
    [
      'all branches are described where none is of the right kind',
      stop,
      5,
      'must be a string, or must be a list, or must be null',
    ],
    ['the path within the matching branch is named', pair, { name: 5 }, 'name: must be a string'],
    [
      'the values of a discriminator are listed',
      typed,
      { type: 'xml' },
      'must be one of text, json_object',
    ],
    [
      'a bound is described for the branch that it belongs to',
      either,
      'a',
      'must have at least 3 characters',
    ],
  ] as const)
    t.test(title, async t => t.equal(issueMessageOf(schema, value), says))
})

t.test('a message set by a schema is kept', async t =>
  t.equal(issueMessageOf(z.string({ error: 'name who it is' }), 5), 'name who it is'),
)
