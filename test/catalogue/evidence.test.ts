import t from 'tap'
import * as z from 'zod'
import { defineSkill } from '../../coordinator/kernel/declaration/skill.ts'
import { skills } from '../../coordinator/surfaces/catalogue/skills.ts'
import { figure, listUnknown, nameUnknown } from '../../shared/unknown-fields.ts'

t.test('every answer of a skill states its evidence', async t => {
  for (const { id, output } of skills) {
    const { shape } = output as z.ZodObject
    t.ok(shape.data_state, `${id} has data_state`)
    t.ok(shape.unknown, `${id} has unknown`)
  }
})

const shelf = (answer: object) =>
  defineSkill({
    ...{ id: 'test-shelf', group: 'test', name: 'Shelf', description: 'Weigh what is on a shelf.' },
    ...{ tags: ['test'], access: 'key', effect: 'read', toLoad: 'put things on it' },
    input: z.strictObject({}),
    output: z.object({
      kilograms: figure(z.number().nullable(), 'the scale is off'),
      next: z.string().nullable(),
      boards: z
        .array(z.object({ load_percent: figure(z.number().nullable(), 'no limit is known') }))
        .exactOptional(),
      best: z
        .record(
          z.string(),
          z.union([z.string(), z.object({ at: figure(z.int().nullable(), 'never seen') })]),
        )
        .exactOptional(),
    }),
    run: () => answer as never,
  })

const ask = async (answer: object): Promise<unknown> =>
  (shelf(answer).run as (input: object, context: unknown) => unknown)({}, {})

t.test('a figure that is null is named with its reason, once for all rows', async t => {
  const boards = [{ load_percent: null }, { load_percent: 3 }, { load_percent: null }]
  t.match(
    await ask({ kilograms: null, next: null, boards, best: { a: 'none', b: { at: null } } }),
    {
      data_state: 'partial',
      unknown: [
        { field: 'kilograms', reason: 'the scale is off' },
        { field: 'boards[].load_percent', reason: 'no limit is known' },
        { field: 'best[].at', reason: 'never seen' },
      ],
      to_load: null,
    },
  )
  t.match(await ask({ kilograms: 4, next: null }), { data_state: 'live', unknown: [] })
})

t.test('an answer without data, or from examples, keeps its data state', async t => {
  const nothing = { kilograms: null, next: null, data_state: 'empty' }
  t.match(await ask(nothing), { data_state: 'empty', to_load: 'put things on it' })
  t.match(await ask({ ...nothing, data_state: 'example' }), { data_state: 'example' })
})

t.test('a field that cannot be null is not a figure', async t => {
  t.throws(() => figure(z.number(), 'the scale is off'), /must be nullable/)
})

const named = (schema: z.ZodType, answer: object, isEmpty = false): string[] =>
  listUnknown(schema, answer, { isEmpty }).map(({ field }) => field)

t.test('a null that means "none" in complete data is named in an empty answer alone', async t => {
  const median = figure(z.number().nullable(), 'nobody was hired', { named: 'empty' })
  const schema = z.object({ median })
  t.strictSame(named(schema, { median: null }), [])
  t.strictSame(named(schema, { median: null }, true), ['median'])
})

t.test('a description of a figure leaves it a figure', async t => {
  const score = figure(z.number().nullable(), 'no usage').describe('From 0 to 100.')
  t.strictSame(named(z.object({ score }), { score: null }), ['score'])
})

t.test('of a choice, the figures of the option are named that the value has', async t => {
  const at = figure(z.int().nullable(), 'never seen')
  const cell = z.object({ kind: z.literal('cell'), at })
  const schema = z.object({
    row: z.union([z.object({ kind: z.literal('tag'), at: z.null() }), cell]),
  })
  t.strictSame(named(schema, { row: { kind: 'tag', at: null } }), [])
  t.strictSame(named(schema, { row: { kind: 'cell', at: null } }), ['row.at'])
})

t.test('a schema that contains itself is searched to its depth', async t => {
  const load = figure(z.number().nullable(), 'no limit is known')
  const Board = z.object({
    get under() {
      return z.array(Board)
    },
    load,
  })
  const deep = { load: 1, under: [{ load: 1, under: [{ load: null, under: [] }] }] }
  t.strictSame(named(Board, deep), ['under[].under[].load'])
  const Any: z.ZodType = z.lazy(() => z.union([z.array(Any), z.object({ load })]))
  t.strictSame(named(z.object({ tree: Any }), { tree: [[{ load: null }]] }), ['tree[][].load'])
})

t.test('a field that is unknown for several reasons is named once, with their number', async t => {
  t.strictSame(nameUnknown('findings', []), [])
  t.strictSame(nameUnknown('findings', ['cell a: off']), [
    { field: 'findings', reason: 'cell a: off' },
  ])
  t.match(nameUnknown('findings', ['cell a: off', 'cell b: off', 'cell c: off']), [
    { field: 'findings', reason: 'cell a: off; and 2 more' },
  ])
})
