import t from 'tap'
import { discoveryDeltaTable } from '../../../../coordinator/discovery/entities/discovery-delta.table.ts'
import { operations } from '../../../../coordinator/surfaces/catalogue/operations.ts'
import { skills } from '../../../../coordinator/surfaces/catalogue/skills.ts'
import { isScan } from '../../../../discovery/module.ts'
import { DISCOVERY_MODULES } from '../../../../discovery/modules.ts'
import { governanceScene } from '../../../support/governance.ts'

/** Operations and skills that scan, or that show or change what scans found. */
const scans = new Set(DISCOVERY_MODULES.filter(isScan).map(({ id }) => id))
const named = (id: string): string => id.replace(/^module-(.*)-(run|last)$/, '$1')
const guarded = [...operations, ...skills].filter(
  ({ id, access, path }) =>
    access !== 'none' &&
    (scans.has(named(id)) || /^(discovery-|wireless-full)/.test(id) || /discovery/.test(path)),
)

t.test('a key of a client reaches no scan, and nothing that scans found', async t => {
  const { app, demo } = await governanceScene(t)
  t.ok(guarded.length > 40)
  const statusOf = async (method: string, url: string, key?: string) => {
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` }
    const headers = { ...authorization, 'content-type': 'application/json' }
    const response = await app.inject({ method: method as 'POST', url, headers, payload: {} })
    return response.statusCode
  }
  for (const { method, path } of guarded) {
    const url = path.replaceAll(/\{\w+\}/g, 'x')
    t.equal(await statusOf(method, url, demo.pro), 403, `${method} ${path}`)
    t.equal(await statusOf(method, url), 401, `${method} ${path} without a key`)
  }
})

t.test('an operator is told about input that can have no effect', async t => {
  const { call, demo } = await governanceScene(t)
  const entity = '/v1/discovery/entities/ent_1'
  for (const [method, path, body] of [
    ['GET', '/a2a/discovery/registry?risk_level=huge', undefined],
    ['GET', '/a2a/discovery/registry?device_type=toaster', undefined],
    ['POST', `${entity}/merge`, { other: 'ent_1' }],
    ['PUT', `${entity}/values`, {}],
    ['POST', '/a2a/discovery/run', { modules: ['bogus'] }],
  ] as const)
    t.match(await call(demo.operator, method, path, body), { status: 422 }, path)
})

t.test('a change of a kind that a later version has added is listed as it is', async t => {
  const { call, demo, store } = await governanceScene(t)
  const at = Date.now()
  const body = { field: null, before: null, after: null, other_id: null, name: null }
  const rows = ['appeared', 'appeared', 'moved'].map((kind, n) =>
    discoveryDeltaTable.write({
      seq: n + 1,
      at,
      kind: kind as 'appeared',
      entityId: 'ent_1',
      body,
    }),
  )
  await store.ledger.sealed.write(async trx => {
    await trx.insertInto('discovery_deltas').values(rows).execute()
    const damaged = trx.updateTable('discovery_deltas').set({ body_json: '{' })
    await damaged.where('seq', '=', 1).execute()
  })
  const { status, json } = await call(demo.operator, 'GET', '/v1/discovery/deltas?limit=2')
  t.equal(status, 200)
  t.match(json, { deltas: [{ kind: 'appeared' }, { kind: 'moved', entity_id: 'ent_1' }], next: 3 })
})
