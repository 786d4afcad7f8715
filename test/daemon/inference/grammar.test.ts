import fc from 'fast-check'
import { getLlama, LlamaLogLevel } from 'node-llama-cpp'
import t from 'tap'
import { ANY_OBJECT, safeShape } from '../../../daemon/inference/grammar/json-grammar.ts'
import type { Shape } from '../../../daemon/inference/grammar/node.ts'
import { Rules } from '../../../daemon/inference/grammar/rules.ts'
import type { JsonSchema } from '../../../shared/wire/openai-tools.ts'
import { acceptsItsRange, createRangePattern } from '../../support/integer-ranges.ts'

/** Grammar as the engine itself evaluates it. */
interface TestedGrammar {
  _testText(text: string): boolean
}

const textOf = (shape: Shape): string => {
  const rules = new Rules()
  return rules.text(rules.value(shape))
}

t.test('a grammar built from a schema', async t => {
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error })
  t.teardown(() => llama.dispose())
  const takes = async (shape: Shape): Promise<(value: unknown) => boolean> => {
    const grammar = await llama.createGrammar({ grammar: textOf(shape) })
    const tested = grammar as unknown as TestedGrammar
    return value => tested._testText(typeof value === 'string' ? value : JSON.stringify(value))
  }
  const text = (value: string): string => JSON.stringify(value)

  for (const { title, schema, good, bad } of [
    {
      title: 'holds to types and required properties',
      schema: {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'integer' } },
        required: ['a', 'b'],
        additionalProperties: false,
      },
      good: [{ a: 'x', b: -5 }, { a: 'é"\\\n\u0001', b: 0 }, '{ "a":"x",\n  "b":1\n}'],
      bad: [
        { a: 'x' },
        { b: 1, a: '' },
        { a: 'x', b: 1.5 },
        { a: 'x', b: 1, c: 1 },
        '{"a":"x","b":1} ',
      ],
    },
    {
      title: 'lets optional properties out, wherever they stand',
      schema: {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'integer' }, c: { type: 'null' } },
        required: ['b'],
      },
      good: [{ b: 1 }, { a: 'x', b: 1 }, { b: 1, c: null }, { a: 'x', b: 1, c: null }],
      bad: [{ a: 'x' }, { c: null }, {}, '{"b":1,}', '{,"b":1}'],
    },
    {
      title: 'counts items',
      schema: { type: 'array', items: { type: 'number', minimum: 0 }, minItems: 1, maxItems: 3 },
      good: [[1], [1.5, 2, 3e5], '[1,\n  2]'],
      bad: [[], [1, 2, 3, 4], [-1], ['1']],
    },
    {
      title: 'knows the first items and the rest',
      schema: {
        prefixItems: [{ type: 'string' }, { type: 'boolean' }],
        items: { enum: ['a', 'ab', null, 1, 12] },
        maxItems: 4,
      },
      good: [
        ['x', true],
        ['x', false, 'ab', 12],
        ['x', false, null, 1],
      ],
      bad: [['x'], ['x', true, 'b'], ['x', true, 1, 1, 1]],
    },
    {
      title: 'tells alternatives apart that hold themselves again',
      schema: {
        anyOf: [
          {
            type: 'object',
            properties: { kind: { const: 'not' }, of: { $ref: '#' } },
            required: ['kind', 'of'],
          },
          { type: 'object', properties: { kind: { const: 'true' } }, required: ['kind'] },
          { type: 'null' },
        ],
      },
      good: [null, { kind: 'not', of: { kind: 'not', of: null } }, { kind: 'true' }],
      bad: [{ kind: 'not' }, { kind: 'false' }],
    },
    {
      title: 'follows references',
      schema: {
        $defs: {
          node: {
            type: ['object', 'null'],
            properties: { next: { $ref: '#/$defs/node' } },
            required: ['next'],
          },
        },
        $ref: '#/$defs/node',
      },
      good: [null, { next: { next: null } }],
      bad: [{ next: 1 }, {}],
    },
    {
      title: 'counts characters',
      schema: { type: 'string', minLength: 2, maxLength: 1024 },
      good: [text('ab'), text('x'.repeat(1024)), '"\\u00e9\\n"'],
      bad: [text('a'), text('x'.repeat(1025))],
    },
    {
      title: 'knows dates, times and ids',
      schema: {
        type: 'array',
        prefixItems: [
          { type: 'string', format: 'date-time' },
          { type: 'string', format: 'date' },
          { type: 'string', format: 'time' },
          { type: 'string', format: 'uuid' },
        ],
        items: false,
      },
      good: [
        [
          '2024-02-29T10:00:00.123Z',
          '2024-12-31',
          '23:59:59+02:00',
          '123e4567-e89b-12d3-a456-426614174000',
        ],
      ],
      bad: [
        ['2024-13-01T00:00:00Z', '2024-12-31', '23:59:59Z', '123e4567-e89b-12d3-a456-426614174000'],
      ],
    },
    {
      title: 'knows how long months are',
      schema: { type: 'string', format: 'date' },
      good: ['2024-02-29', '2000-02-29', '2023-02-28', '2023-04-30', '2023-12-31'].map(text),
      bad: ['2023-02-29', '1900-02-29', '2023-04-31', '2023-12-32', '2023-00-01'].map(text),
    },
    {
      title: 'counts the members of an object with any keys',
      schema: {
        type: 'object',
        additionalProperties: { type: 'integer' },
        minProperties: 1,
        maxProperties: 2,
      },
      good: [{ a: 1 }, { a: 1, b: 2 }],
      bad: [{}, { a: 1, b: 2, c: 3 }, { a: 'x' }],
    },
    {
      title: 'knows integers above zero',
      schema: { type: 'integer', exclusiveMinimum: 0, maximum: Number.MAX_SAFE_INTEGER },
      good: [1, 999_999_999_999_999, Number.MAX_SAFE_INTEGER],
      bad: [0, -1, 1.5, '1e3', '9007199254740992'],
    },
    {
      title: 'knows integers between any bounds',
      schema: { type: 'integer', exclusiveMinimum: -120, maximum: 150.5 },
      good: [-119, -20, -9, 0, 9, 99, 100, 150],
      bad: [-120, -200, 151, 200, 1000, '-0', '007', '+1', '1.0', '-', ''],
    },
    {
      title: 'knows integers beyond a bound of many digits',
      schema: { type: 'integer', minimum: 1e300, exclusiveMaximum: Number.MAX_VALUE },
      good: [`${10n ** 300n * 2n}`, `${10n ** 308n}`],
      bad: [1, `${10n ** 299n}`, `${BigInt(Number.MAX_VALUE)}`],
    },
    {
      title: 'takes no members where none are named',
      schema: { type: 'object', properties: {} },
      good: [{}],
      bad: [{ a: 1 }],
    },
  ] as { title: string; schema: JsonSchema; good: unknown[]; bad: unknown[] }[]) {
    t.test(title, async t => {
      const isTaken = await takes(safeShape(schema, 'schema'))
      for (const value of good) t.ok(isTaken(value), `takes ${JSON.stringify(value)}`)
      for (const value of bad) t.notOk(isTaken(value), `refuses ${JSON.stringify(value)}`)
    })
  }

  t.test('accepts any object and nothing else', async t => {
    const isTaken = await takes(ANY_OBJECT)
    for (const value of [{}, { a: 1, b: [1, -2.5e-3, { c: null }], d: '' }]) t.ok(isTaken(value))
    for (const value of ['[]', '1', '{"a":}', '{} ', '{"a":01}']) t.notOk(isTaken(value))
  })

  t.test('has no more rules than the engine supports', async t => {
    const names = Array.from({ length: 1500 }, (_, index) => `property_${index}`)
    const properties = Object.fromEntries(names.map(name => [name, { type: 'integer' }]))
    await takes(safeShape({ type: 'object', properties, required: names }, 'schema'))
    const limit = { maxLength: 1024, minLength: 1000, type: 'string' }
    const inner = { type: 'array', maxItems: 1024, items: limit }
    const isTaken = await takes(
      safeShape({ type: 'array', maxItems: 1024, items: inner }, 'schema'),
    )
    t.ok(isTaken([[]]))
  })
})

t.test('a schema that a grammar cannot express is refused with the place', async t => {
  const nestArrays = (depth: number): JsonSchema =>
    depth === 0 ? { type: 'null' } : { type: 'array', items: nestArrays(depth - 1) }
  for (const [schema, code, param] of [
    [{ type: 'string', pattern: 'a' }, 'unsupported_parameter', 's.pattern'],
    [{ type: 'string', format: 'email' }, 'unsupported_parameter', 's.format'],
    [{ type: 'number', minimum: 5 }, 'unsupported_parameter', 's.minimum'],
    [{ type: 'number', maximum: 5 }, 'unsupported_parameter', 's.maximum'],
    [{ type: 'integer', minimum: 6, maximum: 5 }, 'invalid_request', 's.maximum'],
    [
      { type: 'integer', exclusiveMinimum: 1, exclusiveMaximum: 2 },
      'invalid_request',
      's.exclusiveMaximum',
    ],
    [{ type: 'number', multipleOf: 5 }, 'unsupported_parameter', 's.multipleOf'],
    [{ type: 'array', uniqueItems: true }, 'unsupported_parameter', 's.uniqueItems'],
    [{ type: 'string', maxLength: 1025 }, 'unsupported_parameter', 's.maxLength'],
    [{ properties: { a: { not: {} } } }, 'unsupported_parameter', 's.properties.a.not'],
    [{ allOf: [{}, {}] }, 'unsupported_parameter', 's.allOf'],
    [{ type: 'object', required: ['x'] }, 'unsupported_parameter', 's.required'],
    [{ $ref: 'https://example.org/schema' }, 'unsupported_parameter', 's.$ref'],
    [{ $ref: '#' }, 'unsupported_parameter', 's'],
    [
      { $ref: '#/$defs/a', $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }] } } },
      'unsupported_parameter',
      's',
    ],
    [nestArrays(33), 'unsupported_parameter', `s${'.items'.repeat(33)}`],
    [{ type: 'text' }, 'invalid_request', 's.type'],
    [{ anyOf: {} }, 'invalid_request', 's.anyOf'],
    [{ type: 'string', enum: [1] }, 'invalid_request', 's.enum'],
    [{ type: 'array', minItems: 2, maxItems: 1 }, 'invalid_request', 's.maxItems'],
    [{ properties: { a: 1 } }, 'invalid_request', 's.properties.a'],
  ] as [JsonSchema, string, string][]) {
    t.throws(() => safeShape(schema, 's'), { code, param }, JSON.stringify(schema).slice(0, 80))
  }
})

t.test('a range of integers accepts exactly the integers in it', t => {
  // `npm run prove -- integer-ranges` tries 10,000
  fc.assert(acceptsItsRange, { numRuns: 200 })
  t.ok(['-0', '00', '07', '-01', ''].every(text => !createRangePattern(-20n, 20n).test(text)))
  t.strictSame(
    ['5', '6', `${10n ** 15n - 1n}`, `${10n ** 15n}`, '-6'].map(text =>
      createRangePattern(6n, undefined).test(text),
    ),
    [false, true, true, false, false],
  )
  const beyond = 10n ** 17n
  t.strictSame(
    [beyond - 1n, beyond, beyond * 10n - 1n].map(value =>
      createRangePattern(beyond, undefined).test(`${value}`),
    ),
    [false, true, true],
  )
  t.end()
})

t.test('a hostile schema is refused or yields a small grammar, within bounded time', async t => {
  const createEntries = (count: number, schema: (index: number) => unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`d${index}`, schema(index)]))
  const refToPrevious = (index: number) => ({ $ref: `#/$defs/d${index - 1}` })
  const doubling = createEntries(600, index =>
    index === 0 ? { type: 'string' } : { anyOf: [refToPrevious(index), refToPrevious(index)] },
  )
  t.ok(textOf(safeShape({ $defs: doubling, $ref: '#/$defs/d599' }, 's')).length < 2000)
  const chain = createEntries(1900, index =>
    index === 0 ? { type: 'string' } : refToPrevious(index),
  )
  t.ok(textOf(safeShape({ $defs: chain, $ref: '#/$defs/d1899' }, 's')).length < 2000)
  for (const [title, schema] of [
    ['1,900 optional properties', { properties: createEntries(1900, () => true) }],
    ['more nodes than are read', { properties: createEntries(2001, () => true) }],
    [
      'brackets that double the ways',
      { anyOf: [{ items: { $ref: '#' } }, { prefixItems: [{ $ref: '#' }] }] },
    ],
    [
      'a hundred objects that begin alike',
      { anyOf: Object.values(createEntries(100, () => ({ type: 'object' }))) },
    ],
    ['names that fill the memory', { properties: { ['x'.repeat(100_001)]: true } }],
  ] as [string, JsonSchema][]) {
    t.throws(() => safeShape(schema, 's'), { code: 'unsupported_parameter' }, title)
  }
})

t.test('a list of constants that is referenced repeatedly is refused, not expanded', async t => {
  const many = { enum: Array.from({ length: 900 }, (_, index) => `${index}`.padStart(90, 'x')) }
  const names = Array.from({ length: 250 }, (_, index) => `p${index}`)
  const createUnion = (name: string) => ({ anyOf: [{ $ref: '#/$defs/many' }, { const: name }] })
  const schema = (count: number) => ({
    $defs: { many },
    type: 'object',
    properties: Object.fromEntries(names.slice(0, count).map(name => [name, createUnion(name)])),
    required: names.slice(0, count),
  })
  t.throws(() => safeShape(schema(250), 'x'), { code: 'unsupported_parameter', param: 'x' })
  t.doesNotThrow(() => safeShape(schema(1), 'x'))
})
