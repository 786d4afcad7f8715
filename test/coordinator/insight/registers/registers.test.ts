import t from 'tap'
import { costs } from '../../../../coordinator/insight/registers/definitions/costs.ts'
import { upsertRecords } from '../../../../coordinator/insight/registers/record-rows.ts'
import { REGISTERS } from '../../../../coordinator/insight/registers/register-list.ts'
import { Registers } from '../../../../coordinator/insight/registers/registers.ts'
import { jsonSchema } from '../../../../coordinator/kernel/declaration/json-schema.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { governanceScene } from '../../../support/governance.ts'

const PATH = '/v1/registers'
const service = (name: string) => ({ record: { name, url: 'https://portal.example' } })

t.test('a record is added, read, changed and deleted; every change is audited', async t => {
  const { call, demo } = await governanceScene(t)
  const at = `${PATH}/services/portal`
  t.match(await call(demo.operator, 'PUT', at, service('Portal')), {
    status: 200,
    json: { id: 'portal', revision: 1, is_example: false, record: { kind: 'http' } },
  })
  t.match(await call(demo.operator, 'PUT', at, service('Customer portal')), {
    json: { revision: 2 },
  })
  t.match(await call(demo.operator, 'GET', at), { json: { record: { name: 'Customer portal' } } })
  t.match(await call(demo.operator, 'GET', `${PATH}/services`), {
    json: { data_state: 'live', records: [{ id: 'portal' }], next: null },
  })
  t.match(await call(demo.operator, 'DELETE', at), { status: 200, json: { revision: 2 } })
  t.match(await call(demo.operator, 'GET', at), { status: 404 })
  const audit = await call(demo.operator, 'GET', '/v1/audit?action=register.*')
  t.strictSame(
    audit.json.rows.map(({ action, subject }: Record<string, string>) => [action, subject]),
    [
      ['register.delete', 'services/portal'],
      ['register.put', 'services/portal'],
      ['register.put', 'services/portal'],
    ],
  )
})

t.test('a change that expects another revision is refused, so that none is lost', async t => {
  const { call, demo } = await governanceScene(t)
  const put = (revision: number) =>
    call(demo.operator, 'PUT', `${PATH}/services/portal`, { ...service('Portal'), revision })
  t.match(await put(1), { status: 409, json: { error: { param: 'revision' } } })
  t.match(await put(0), { status: 200, json: { revision: 1 } })
  t.match(await put(0), { status: 409, json: { error: { message: /has revision 1/ } } })
  t.match(await put(1), { status: 200, json: { revision: 2 } })
  t.match(await call(demo.operator, 'DELETE', `${PATH}/services/portal?revision=1`), {
    status: 409,
  })
})

t.test('a record that is added again has a revision that the deleted one never had', async t => {
  const { call, demo } = await governanceScene(t)
  const at = `${PATH}/services/portal`
  const put = (revision: number) =>
    call(demo.operator, 'PUT', at, { ...service('Portal'), revision })
  await put(0)
  t.match(await put(1), { json: { revision: 2 } })
  await call(demo.operator, 'DELETE', at)
  t.match(await put(0), { status: 200, json: { revision: 3 } })
  t.match(await put(2), { status: 409 }, 'a change that was read before the deletion')
  t.match(await call(demo.operator, 'PUT', `${PATH}/services/other`, service('Other')), {
    json: { revision: 3 },
  })
})

t.test('the error for a record that does not fit its register names the field', async t => {
  const { call, demo } = await governanceScene(t)
  const put = (record: object) => call(demo.operator, 'PUT', `${PATH}/services/a`, { record })
  for (const [record, param] of [
    [{}, 'record.name'],
    [{ name: 'a', kind: 'gopher' }, 'record.kind'],
    [{ name: 'a', colour: 'red' }, 'record.colour'],
    [{ name: 'a', id: 'b' }, 'record.id'],
  ] as const)
    t.match(await put(record), { status: 422, json: { error: { param } } })
  t.match(await call(demo.operator, 'GET', `${PATH}/unicorns`), {
    status: 404,
    json: { error: { message: /an id: backups, candidates/ } },
  })
  t.match(await call(demo.operator, 'PUT', `${PATH}/services/ada@example.org`, service('a')), {
    status: 422,
    json: { error: { param: 'record_id' } },
  })
})

t.test('pages are in the order of the ids, and their cursor ends', async t => {
  const { call, demo } = await governanceScene(t)
  for (const id of ['c', 'a', 'b'])
    await call(demo.operator, 'PUT', `${PATH}/services/${id}`, service(id))
  const ids = ({ json }: { json: { records: { id: string }[] } }) => json.records.map(r => r.id)
  const first = await call(demo.operator, 'GET', `${PATH}/services?limit=2`)
  t.strictSame(ids(first), ['a', 'b'])
  const second = await call(demo.operator, 'GET', `${PATH}/services?limit=2&after=b`)
  t.strictSame([ids(second), first.json.next, second.json.next], [['c'], 'b', null])
  t.match(await call(demo.operator, 'GET', `${PATH}/services?after=c`), {
    json: { data_state: 'live', records: { length: 0 } },
  })
})

t.test('every record of a register is read, over the pages of the store', async t => {
  const { store } = await governanceScene(t)
  const { tenantId, register } = { tenantId: 'demo', register: costs.id }
  const cost = {
    category: 'other',
    name: 'x',
    amount_eur: 1,
    period: 'once',
    started_on: '2026-01-01',
  }
  const rows = Array.from({ length: 1000 }, (_, i) => ({ ...cost, id: `c${i}` }))
  await store.ledger.sealed.write(trx =>
    upsertRecords(trx, { tenantId, register }, rows, { at: 1, by: 'key:k' }),
  )
  const registers = new Registers({ runtime: systemRuntime, store, now: Date.now })
  const { records, isExample } = await registers.readAll(costs, { tenantId })
  t.strictSame([new Set(records.map(({ id }) => id)).size, isExample], [1000, false])
  const later = JSON.stringify({ ...cost, id: 'c8', added: 1 })
  await store.ledger.sealed.write(trx =>
    trx
      .updateTable('register_records')
      .set({ record_json: later })
      .where('id', '=', 'c8')
      .execute(),
  )
  t.equal((await registers.readAll(costs, { tenantId })).records.length, 1000, 'with a later field')
  await store.ledger.sealed.write(trx =>
    trx
      .updateTable('register_records')
      .set({ record_json: '{"id":"c7"}' })
      .where('id', '=', 'c7')
      .execute(),
  )
  await t.rejects(registers.readAll(costs, { tenantId }), {
    code: 'internal',
    message: /register_records \(tenant_id demo, register costs, id c7\): column record_json/,
  })
})

t.test('each tenant has its own records, also those with the same id', async t => {
  const { call, demo } = await governanceScene(t)
  const at = `${PATH}/services/portal`
  await call(demo.operator, 'PUT', at, service('Portal'))
  t.match(await call(demo.stranger, 'GET', at), { status: 404 })
  t.match(await call(demo.stranger, 'DELETE', at), { status: 404 })
  t.match(await call(demo.stranger, 'GET', `${PATH}/services`), { json: { data_state: 'empty' } })
  t.match(await call(demo.stranger, 'PUT', at, service('Theirs')), { json: { revision: 1 } })
  t.match(await call(demo.operator, 'GET', at), { json: { record: { name: 'Portal' } } })
})

t.test('registers of people are open to operator_admin alone, and none to clients', async t => {
  const { call, demo, keys } = await governanceScene(t)
  const { secret } = await keys.create(
    { tenantId: 'demo', personId: 'demo_pro', tier: 'pro', roles: ['client', 'builder'] },
    { actor: 'test' },
  )
  for (const register of ['people', 'candidates'])
    t.match(await call(secret, 'GET', `${PATH}/${register}`), {
      status: 403,
      json: { error: { message: /operator_admin/ } },
    })
  t.match(await call(secret, 'GET', `${PATH}/services`), { status: 200 })
  t.match(await call(demo.pro, 'GET', `${PATH}/services`), { status: 403 })
})

t.test('every reference to a person that an erasure clears is optional', async t => {
  const required = REGISTERS.flatMap(({ id, record, personal }) =>
    Object.entries(personal?.persons ?? {})
      .filter(([field, effect]) => {
        const { required = [] } = jsonSchema(record) as { required?: string[] }
        return effect === 'clear' && required.includes(field)
      })
      .map(([field]) => `${id} ${field}`),
  )
  t.strictSame(required, [])
})

t.test('every field that holds the id of a person is declared as such', async t => {
  const undeclared = REGISTERS.flatMap(({ id, record, personal }) =>
    Object.keys(record.shape)
      .filter(field => /^(person|owner|assignee|manager)_id$/.test(field))
      .filter(field => !(field in (personal?.persons ?? {})))
      .map(field => `${id} ${field}`),
  )
  t.strictSame(undeclared, [])
})
