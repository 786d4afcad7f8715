import t from 'tap'
import { governanceScene } from '../../../support/governance.ts'

const put = ({ call, demo }: Awaited<ReturnType<typeof governanceScene>>) => {
  const at = (register: string, id: string, record: object, key = demo.operator) =>
    call(key, 'PUT', `/v1/registers/${register}/${id}`, { record })
  return at
}

const PERSON = { name: 'Mira Holm', email: 'mira@example.org', team: 'A', started_on: '2026-01-01' }
const COURSE = { person_id: 'p-1', course: 'Fire safety', assigned_on: '2026-01-02' }

t.test('everything about a person is exported and erased, and nothing else', async t => {
  const scene = await governanceScene(t)
  const { call, demo } = scene
  const add = put(scene)
  await add('people', 'p-1', PERSON)
  await add('people', 'p-2', { ...PERSON, name: 'Jonas', manager_id: 'p-1' })
  await add('people', 'p-10', { ...PERSON, name: 'Karla' })
  await add('trainings', 't-1', COURSE)
  await add('trainings', 't-2', { ...COURSE, person_id: 'p-2' })
  await add('services', 'portal', { name: 'p-1', owner_id: 'p-1' })
  await add('people', 'p-1', PERSON, demo.stranger)

  const told = await call(demo.operator, 'GET', '/v1/people/p-1')
  t.strictSame(
    told.json.records.map(({ register, id }: Record<string, string>) => `${register}/${id}`),
    ['people/p-1', 'people/p-2', 'services/portal', 'trainings/t-1'],
  )
  t.match(await call(demo.operator, 'DELETE', '/v1/people/p-1'), {
    status: 200,
    json: { records_deleted: 2, records_cleared: 2 },
  })
  t.match(await call(demo.operator, 'GET', '/v1/people/p-1'), { status: 404 })
  t.match(await call(demo.operator, 'DELETE', '/v1/people/p-1'), { status: 404 })
  const { json: report } = await call(demo.operator, 'GET', '/v1/registers/people/p-2')
  t.strictSame([report.record.manager_id, report.revision], [undefined, 2])
  t.match(await call(demo.operator, 'GET', '/v1/registers/services/portal'), {
    json: { record: { name: 'p-1', owner_id: undefined } },
  })
  t.match(await call(demo.operator, 'GET', '/v1/registers/people/p-10'), { status: 200 })
  t.match(await call(demo.stranger, 'GET', '/v1/people/p-1'), { json: { records: { length: 1 } } })
})

t.test('the audit shows that a person was erased, and none of the personal values', async t => {
  const scene = await governanceScene(t)
  const { call, demo } = scene
  await put(scene)('people', 'p-1', PERSON)
  await call(demo.operator, 'DELETE', '/v1/people/p-1')
  const { json } = await call(demo.operator, 'GET', '/v1/audit?limit=100')
  t.match(json.rows[0], {
    action: 'person.erase',
    subject: 'p-1',
    details: { records_deleted: 1, records_cleared: 0, statements_deleted: 0 },
  })
  t.notMatch(JSON.stringify(json.rows), /Mira|example\.org/)
})

t.test('what imported layers and learning keep of a person is exported and erased', async t => {
  const { call, demo, store } = await governanceScene(t)
  const text = JSON.stringify({
    nodes: [
      { id: 'person:p-1', name: 'Mira Holm' },
      { id: 'person:p-10', name: 'Karla' },
      { id: 'service:crm' },
    ],
    edges: [
      { source: 'service:crm', relation: 'owned_by', target: 'person:p-1' },
      { source: 'service:crm', relation: 'owned_by', target: 'person:p-10' },
    ],
  })
  for (const key of [demo.operator, demo.stranger])
    t.match(await call(key, 'POST', '/v1/graph/layers/team', { text }), { status: 200 })
  const learned = { tenant_id: 'demo', strength_ppm: 500_000, at: Date.now() }
  const keys = ['service:crm owned_by person:p-1', 'service:crm owned_by person:p-10']
  await store.ledger.sealed.write(trx =>
    trx
      .insertInto('graph_learning')
      .values(keys.map(edge_key => ({ ...learned, edge_key })))
      .execute(),
  )
  t.match(await call(demo.operator, 'GET', '/v1/people/p-1'), {
    json: { records: { length: 0 }, statements: [{ name: 'Mira Holm' }, { statement: keys[0] }] },
  })
  t.match(await call(demo.operator, 'DELETE', '/v1/people/p-1'), {
    status: 200,
    json: { records_deleted: 0, statements_deleted: 2 },
  })
  const left = await store.ledger.read.selectFrom('graph_learning').select('edge_key').execute()
  t.strictSame(left, [{ edge_key: keys[1] }])
  t.match(await call(demo.operator, 'GET', '/v1/graph/nodes/person:p-1'), { status: 404 })
  t.match(await call(demo.operator, 'GET', '/v1/graph/nodes/person:p-10'), { status: 200 })
  t.match(await call(demo.stranger, 'GET', '/v1/graph/nodes/person:p-1'), { status: 200 })
})

t.test('only operator_admin exports and erases people', async t => {
  const scene = await governanceScene(t)
  await put(scene)('people', 'p-1', PERSON)
  for (const method of ['GET', 'DELETE'] as const)
    t.match(await scene.call(scene.demo.pro, method, '/v1/people/p-1'), { status: 403 })
})
