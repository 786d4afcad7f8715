import { gzipSync } from 'node:zlib'
import t from 'tap'
import { costs } from '../../../../coordinator/insight/registers/definitions/costs.ts'
import { Registers } from '../../../../coordinator/insight/registers/registers.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { governanceScene } from '../../../support/governance.ts'

type LightResponse = Awaited<ReturnType<Scene['app']['inject']>>
type Scene = Awaited<ReturnType<typeof governanceScene>>

const TYPES = { csv: 'text/csv', yaml: 'application/yaml', json: 'application/json' } as const

const createImport =
  ({ app, demo }: Pick<Scene, 'app' | 'demo'>) =>
  async (
    text: string | Buffer,
    { register = 'costs', type = 'text/csv', query = '', key = demo.operator, coding = '' } = {},
  ) => {
    const response = await app.inject({
      method: 'POST',
      url: `/v1/imports/registers/${register}${query}`,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': type,
        ...(coding !== '' && { 'content-encoding': coding }),
      },
      payload: text,
    })
    return { status: response.statusCode, json: response.json() }
  }

const HEADER = 'id,category,name,amount_eur,started_on'
const csv = (...rows: string[]): string => [HEADER, ...rows].map(row => `${row}\r\n`).join('')
const RENT = 'rent,hosting,"Rack, two units",410.50,2026-01-01'
const LINE = 'line,network,"A ""dark"" fibre",99,2026-02-01'

const FILES = {
  csv: csv(RENT, LINE),
  yaml: `# costs
- id: rent
  category: hosting
  name: Rack, two units
  amount_eur: 410.50
  started_on: 2026-01-01

- { id: line, category: network, name: 'A "dark" fibre', amount_eur: 99, started_on: 2026-02-01 }
`,
  json: `[{"id": "rent", "category": "hosting", "name": "Rack, two units",
  "amount_eur": 410.5, "started_on": "2026-01-01"},
 {"id":"line","category":"network","name":"A \\"dark\\" fibre","amount_eur":99,"started_on":"2026-02-01"}]`,
}

t.test('a packed file is unpacked, within the limit for files', async t => {
  const send = createImport(await governanceScene(t))
  const done = await send(gzipSync(FILES.csv), { coding: 'gzip' })
  t.match(done, { status: 200, json: { records: 2 } })
  const bomb = gzipSync(Buffer.alloc(51 * 1024 * 1024, ' '))
  t.match(await send(bomb, { coding: 'gzip' }), { status: 413 })
  t.match(await send(FILES.csv, { coding: 'br' }), { status: 422 })
})

for (const format of ['csv', 'yaml', 'json'] as const)
  t.test(`a ${format} file becomes records`, async t => {
    const scene = await governanceScene(t)
    const done = await createImport(scene)(FILES[format], { type: TYPES[format] })
    t.match(done, {
      status: 200,
      json: { is_applied: true, records: 2, added: 2, replaced: 0, error_count: 0 },
    })
    const { json } = await scene.call(scene.demo.operator, 'GET', '/v1/registers/costs')
    t.strictSame(
      json.records.map(({ record }: { record: object }) => record),
      [
        {
          ...{ id: 'line', category: 'network', name: 'A "dark" fibre', amount_eur: 99 },
          ...{ period: 'monthly', started_on: '2026-02-01' },
        },
        {
          ...{ id: 'rent', category: 'hosting', name: 'Rack, two units', amount_eur: 410.5 },
          ...{ period: 'monthly', started_on: '2026-01-01' },
        },
      ],
    )
  })

const FAULTY: [string, string, keyof typeof TYPES, [number, string | null, RegExp][]][] = [
  [
    'csv with wrong cells, a wrong amount and an id that is there twice',
    csv(RENT, 'a,hosting,x,-1,2026-01-01', 'b,hosting', 'c,hosting,"two\nlines",1,soon', RENT),
    'csv',
    [
      [3, 'amount_eur', /at least 0/],
      [4, null, /2 cells instead of 5/],
      [5, 'started_on', /a date such as/],
      [7, 'id', /rent is also on line 2/],
    ],
  ],
  ['csv with an unknown column', 'id,colour\r\na,red\r\n', 'csv', [[1, null, /"colour"; known/]]],
  ['csv with an open quote', csv(RENT, 'a,"b'), 'csv', [[3, null, /quote that is not closed/]]],
  [
    'yaml that cannot be parsed, and an alias',
    '- id: [a\n- id: &x a\n  name: *x\n- 5\n',
    'yaml',
    [
      [1, null, /^(?!.* at line )./],
      [2, null, /aliases are not supported/],
      [4, null, /must be an object/],
    ],
  ],
  ['yaml that is no list', 'id: a\n', 'yaml', [[1, null, /must be a list/]]],
  [
    'json with a wrong record, and an end inside the next',
    '[{"id":"a"},\n {"id":1,}\n,{"id":"b"',
    'json',
    [
      [1, 'category', /category is missing/],
      [2, null, /not valid JSON/],
      [3, null, /ends inside the record/],
    ],
  ],
  ['json that is a text', '"costs"', 'json', [[1, null, /array of objects/]]],
]

for (const [name, text, format, errors] of FAULTY)
  t.test(`${name}: every error has its line, and nothing is imported`, async t => {
    const scene = await governanceScene(t)
    const send = createImport(scene)
    const type = TYPES[format]
    const dry = await send(text, { type, query: '?dry_run=true' })
    t.match(dry, { status: 200, json: { is_applied: false, error_count: errors.length } })
    t.match(
      dry.json.errors,
      errors.map(([line, param, message]) => ({ line, param, message })),
    )
    const message = new RegExp(`^nothing was imported.*line ${errors[0]?.[0]}: `)
    t.match(await send(text, { type }), { status: 422, json: { error: { message } } })
    t.match(await scene.call(scene.demo.operator, 'GET', '/v1/registers/costs'), {
      json: { data_state: 'empty' },
    })
  })

t.test('a dry run changes nothing, merge keeps other records, replace deletes them', async t => {
  const scene = await governanceScene(t)
  const send = createImport(scene)
  t.match(await send(csv(RENT), { query: '?dry_run=true' }), { json: { records: 1, added: 0 } })
  t.match(await send(csv(RENT)), { json: { added: 1, replaced: 0 } })
  t.match(await send(csv(RENT, LINE)), { json: { added: 1, replaced: 1, removed: 0 } })
  t.match(await send(csv(LINE), { query: '?mode=replace' }), {
    json: { added: 0, replaced: 1, removed: 1 },
  })
  const { json } = await scene.call(scene.demo.operator, 'GET', '/v1/registers/costs')
  t.match(json.records, [{ id: 'line', revision: 2 }])
  const audit = await scene.call(scene.demo.operator, 'GET', '/v1/audit?action=register.import')
  t.match(audit.json.rows[0], {
    subject: 'costs',
    details: { records: 1, mode: 'replace', format: 'csv', sha256: /^[0-9a-f]{64}$/ },
  })
  t.notMatch(JSON.stringify(audit.json.rows), /dark|Rack/)
})

t.test('only the media types of an import are accepted, and only there', async t => {
  const scene = await governanceScene(t)
  const send = createImport(scene)
  t.match(await send(csv(RENT), { type: 'text/plain' }), { status: 415 })
  t.match(await send(csv(RENT), { type: 'text/csv; charset=utf-8' }), { status: 200 })
  t.match(await send(Buffer.from([0x69, 0xff])), {
    status: 422,
    json: { error: { message: /not UTF-8/ } },
  })
  t.match(await send('', {}), { status: 422 })
  const response = await scene.app.inject({
    method: 'PUT',
    url: '/v1/registers/costs/a',
    headers: { authorization: `Bearer ${scene.demo.operator}`, 'content-type': 'text/csv' },
    payload: csv(RENT),
  })
  t.equal(response.statusCode, 415)
})

t.test('an import reaches the tenant of its key alone, and needs the roles', async t => {
  const scene = await governanceScene(t)
  const send = createImport(scene)
  const { demo, call } = scene
  t.match(await send(csv(RENT), { key: demo.pro }), { status: 403 })
  await send(csv(RENT))
  await send(csv(LINE), { key: demo.stranger, query: '?mode=replace' })
  t.match(await call(demo.operator, 'GET', '/v1/registers/costs'), {
    json: { records: [{ id: 'rent' }] },
  })
})

t.test('an export is read again as it was, and no cell of it is a formula', async t => {
  const scene = await governanceScene(t)
  const send = createImport(scene)
  const formulas = ['=1+1', "'=1+1", '@x', '-x', '+x', '＝1+1']
  const names = [...formulas, "'plain", 'a,b "c"', 'two\nlines', '7', '007', 'true']
  const records = names.map((name, i) => ({
    id: `s${i.toString(36)}`,
    name,
    kind: 'http',
    criticality: 'low',
    depends_on: ['a', 'b'],
  }))
  const json = { register: 'services', type: TYPES.json }
  t.match(await send(JSON.stringify(records), json), { json: { added: names.length } })
  const read = async () => {
    const listed = await scene.call(scene.demo.operator, 'GET', '/v1/registers/services')
    return listed.json.records.map(({ record }: { record: object }) => record)
  }
  const before = await read()
  t.strictSame(before, records)
  for (const [as, type] of [
    ['csv', TYPES.csv],
    ['yaml', TYPES.yaml],
    ['jsonl', 'application/jsonl'],
  ] as const) {
    const url = `/v1/exports/registers/services?as=${as}&limit=4`
    let text = ''
    for (let next: string | undefined = url; next !== undefined; ) {
      const response: LightResponse = await scene.app.inject({
        url: next,
        headers: { authorization: `Bearer ${scene.demo.operator}` },
      })
      t.match(response.headers['content-type'], type)
      text += response.body
      next = /<([^>]+)>; rel="next"/.exec(String(response.headers.link ?? ''))?.[1]
    }
    if (as === 'csv') t.notMatch(text, /(^|,)"?[=+@＝-]/m)
    t.match(await send(text, { register: 'services', type, query: '?mode=replace' }), {
      json: { added: 0, replaced: names.length, removed: 0 },
    })
    t.strictSame(await read(), before, as)
  }
})

t.test('of two imports that replace a register, none deletes what the other wrote', async t => {
  const { store } = await governanceScene(t)
  let clock = Date.now()
  const registers = new Registers({ runtime: systemRuntime, store, now: () => clock++ })
  const by = { actor: 'key:k', requestId: 'r' }
  const options = { tenantId: 'demo', by, mode: 'replace', isDryRun: false } as const
  const fileOf = (duringWrite: () => Promise<unknown>) => {
    let reads = 0
    async function* open() {
      reads++
      yield Buffer.from(csv(RENT, LINE))
      if (reads === 2) await duringWrite()
    }
    return { format: 'csv', sha256: '', open } as const
  }
  await registers.put(costs, { id: 'old', ...FILES }, { tenantId: 'demo', by })
  const other = () =>
    registers.import(
      costs,
      fileOf(async () => {}),
      options,
    )
  await registers.import(costs, fileOf(other), options)
  const { records } = await registers.page(costs, { tenantId: 'demo' }, { limit: 10 })
  t.strictSame(
    records.map(({ id }) => id),
    ['line', 'rent'],
  )
})

t.test('ids and names that begin with a zero stay text', async t => {
  const scene = await governanceScene(t)
  t.match(await createImport(scene)(csv('007,hosting,00420,1,2026-01-01')), { status: 200 })
  const { json } = await scene.call(scene.demo.operator, 'GET', '/v1/registers/costs/007')
  t.match(json, { record: { id: '007', name: '00420', amount_eur: 1 } })
})

t.test('a record of YAML that keeps a parser busy is refused unparsed', async t => {
  const scene = await governanceScene(t)
  const keys = Array.from({ length: 9000 }, (_, i) => `k${i.toString(36)}`)
  for (const [record, fault] of [
    [`{${keys.join(',')}}`, /line 1: the record has over 1000 parts/],
    ['['.repeat(60_000), /line 1: the record is nested too deeply/],
    ['- '.repeat(30_000), /line 1: the record is nested too deeply/],
    [`${'!a '.repeat(20_000)}x`, /line 1: the record has too many tags/],
  ] as const)
    t.match(await createImport(scene)(`- ${record}\n`, { type: TYPES.yaml }), {
      status: 422,
      json: { error: { message: fault } },
    })
})

t.test('a file over the limit is refused, and a large one is imported in batches', async t => {
  const scene = await governanceScene(t)
  const send = createImport(scene)
  t.match(await send(Buffer.alloc(50 * 1024 * 1024 + 1, 'a')), { status: 413 })
  const rows = Array.from({ length: 1201 }, (_, i) => RENT.replace('rent', `rent-${i}`))
  t.match(await send(csv(...rows)), { json: { records: 1201, added: 1201 } })
})
