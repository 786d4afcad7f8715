import t, { type Test } from 'tap'
import { ALERT_RULES } from '../../../../coordinator/fleet/alerts/alert-rules.ts'
import { Alerts } from '../../../../coordinator/fleet/alerts/alerts.ts'
import type { Store } from '../../../../coordinator/kernel/store/store.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { a2aScene, caller } from '../../../support/a2a.ts'
import { silent } from '../../../support/cell.ts'
import { createEvents } from '../../../support/memory-events.ts'
import { temporaryStore } from '../../kernel/store/temporary.ts'

/** A fleet in which the disk of one cell is full, and was on another. */
const scene = async (t: Test) => {
  const clock = { ms: 0 }
  const told: string[] = []
  const events = createEvents({ source: '/shoal/test', logger: silent })
  events.subscribe('shoal.alert.', ({ type }) => told.push(type.slice('shoal.alert.'.length)))
  let alerts: Alerts | undefined
  const { url, demo, store } = await a2aScene(t, {
    moreParts: [
      async ({ store }: { store: Store }) => {
        alerts = await Alerts.open({
          runtime: systemRuntime,
          store,
          events,
          logger: silent,
          now: () => clock.ms,
        })
        const { list, acknowledge } = alerts
        return { views: { monitor: { alerts: list, acknowledge, isDegraded: () => false } } }
      },
    ],
  })
  if (alerts === undefined) throw new Error('the scene has no alerts')
  const createFullDisk = (cellId: string) =>
    ({ rule: 'disk_full', cellId, part: undefined, state: 'bad', message: 'full' }) as const
  const none = { raise: [], clear: [], reword: [] }
  await alerts.change(store.ledger, { ...none, raise: ['a', 'b'].map(createFullDisk) })
  clock.ms = 20_000
  const clear = alerts.list().filter(({ cellId }) => cellId === 'b')
  await alerts.change(store.ledger, { ...none, clear })
  const [raised, cleared] = alerts.list()
  if (raised === undefined || cleared === undefined) throw new Error('there are no two alerts')
  const listAudited = async () =>
    (await store.ledger.read.selectFrom('audit').selectAll().execute())
      .filter(({ action }) => action.startsWith('alert.'))
      .map(({ action, subject, details_json }) => [action, subject, JSON.parse(details_json)])
  return { ask: caller(url, demo.operator).json, raised, cleared, told, listAudited, url, demo }
}

t.test('an alert is shown with its assignee', async t => {
  const { ask, raised, cleared, told, listAudited } = await scene(t)
  const path = `/v1/alerts/${raised.id}`
  t.match(await ask(path), { status: 200, json: { cell_id: 'a', acknowledged: null } })
  const note = 'I empty it.'
  const taken = await ask(`${path}/acknowledge`, { note })
  t.equal(taken.status, 200)
  t.match(taken.json, { id: raised.id, cleared_at: null, acknowledged: { note } })
  t.match(taken.json.acknowledged, { by: /./, at: '1970-01-01T00:00:20.000Z' })
  t.same((await ask(path)).json, taken.json)
  t.match((await ask('/v1/alerts')).json.alerts, [{ acknowledged: { note } }])
  t.match((await ask(`${path}/reopen`, {})).json, { acknowledged: null })
  t.strictSame(told.slice(-2), ['acknowledged', 'reopened'])
  t.strictSame(await listAudited(), [
    ['alert.acknowledge', raised.id, { rule: 'disk_full', cell_id: 'a', note }],
    ['alert.reopen', raised.id, { rule: 'disk_full', cell_id: 'a' }],
  ])
  t.equal((await ask(`/v1/alerts/${cleared.id}`)).json.cell_id, 'b')
})

t.test('an alert of a rule that only newer versions have is left out at a start', async t => {
  const store = await temporaryStore(t)
  const row = { id: 'a1', rule: 'disk_full', cell_id: 'a', part: '', message: 'full', raised_at: 1 }
  const newer = { ...row, id: 'a2', rule: 'of a newer version' }
  await store.ledger.free.write(trx =>
    trx
      .insertInto('alerts')
      .values([row, newer] as never)
      .execute(),
  )
  const events = createEvents({ source: '/shoal/test', logger: silent })
  const alerts = await Alerts.open({
    runtime: systemRuntime,
    store,
    events,
    logger: silent,
    now: () => 2,
  })
  t.teardown(() => alerts.close())
  t.match(alerts.list(), [{ id: 'a1' }])
  t.equal(alerts.list().length, 1)
})

t.test('a cleared or unknown alert cannot be assigned', async t => {
  const { ask, cleared, listAudited, url, demo, raised } = await scene(t)
  const over = await ask(`/v1/alerts/${cleared.id}/acknowledge`, {})
  t.match(over, { status: 409, json: { error: { code: 'conflict' } } })
  for (const place of ['', '/acknowledge', '/reopen'])
    t.equal((await ask(`/v1/alerts/no-such${place}`, place === '' ? undefined : {})).status, 404)
  t.equal((await ask(`/v1/alerts/${raised.id}/acknowledge`, { note: 'x'.repeat(501) })).status, 422)
  const free = caller(url, demo.free).json
  t.equal((await free(`/v1/alerts/${raised.id}/acknowledge`, {})).status, 403)
  t.strictSame(await listAudited(), [])
})

t.test('each rule states its metric and its number of alerts', async t => {
  const { ask } = await scene(t)
  const { rules } = (await ask('/v1/alerts/rules')).json
  t.strictSame(
    rules.map(({ rule }: { rule: string }) => rule),
    Object.keys(ALERT_RULES),
  )
  const disk = rules.find(({ rule }: { rule: string }) => rule === 'disk_full')
  t.match(disk, { level: 'critical', raise_after_s: 0, clear_after_s: 10, raised: 1 })
  t.match(disk.says, /95 percent/)
})
