import t from 'tap'
import { createTenant } from '../../../../coordinator/access/people/tenants.ts'
import { createMonitor } from '../../../../coordinator/fleet/alerts/monitor.ts'
import type { CellLink } from '../../../../coordinator/fleet/cells/cell-link.ts'
import { Fleet } from '../../../../coordinator/fleet/cells/fleet.ts'
import { createCellSettings } from '../../../../coordinator/fleet/enrolment/cell-settings.ts'
import { Cells } from '../../../../coordinator/fleet/enrolment/cells.ts'
import { createToken } from '../../../../coordinator/fleet/enrolment/join-tokens.ts'
import { Router } from '../../../../coordinator/fleet/routing/router.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import type { Announce } from '../../../../shared/wire/announce.ts'
import { appWith, views } from '../../../support/app.ts'
import { silent } from '../../../support/cell.ts'
import { engine, gpu, sampleOf } from '../../fleet/series/samples.ts'
import { temporaryStore } from '../../kernel/store/temporary.ts'

const NOW = Date.UTC(2026, 10, 20)
const ADMIN = { authorization: 'Bearer admin-key' }
const REVIEWER = { authorization: 'Bearer reviewer-key' }

const rig = async (t: Parameters<typeof temporaryStore>[0]) => {
  const store = await temporaryStore(t)
  const cells = new Cells({ store, logger: silent })
  const clock = { ms: 0 }
  const monitor = await createMonitor({
    runtime: systemRuntime,
    store,
    logger: silent,
    cells: (): ReturnType<Fleet['cells']> => fleet.cells(),
    now: () => NOW,
    nowMs: () => clock.ms,
    events: { addWithin: async () => {} },
  })
  const router = new Router()
  const fleet = new Fleet({
    router,
    limits: { suspectAfterMs: 7500, deadAfterMs: 12_000 },
    nowMs: () => clock.ms,
    onPresenceChange: monitor.notePresence,
    onSample: monitor.addSample,
  })
  const { secret } = await createToken(store.ledger, { uses: 1, ttlMinutes: 5 }, { actor: 'test' })
  const { cellId } = await cells.enrol({ token: secret, name: 'one' })
  fleet.admit(cellId, 0)
  const own = createCellSettings(store, () => NOW)
  const settings: typeof own = {
    ...own,
    setDrained: async (id, drained, by) => {
      const changed = await own.setDrained(id, drained, by)
      fleet.drain(id, drained)
      return changed
    },
  }
  const lengths = () => new Map([['m', 3]])
  const routing = { router, nowMs: () => clock.ms }
  const waiting = { lengths }
  const app = await appWith({
    views: views({ fleet, cells, settings, routing, waiting, monitor }),
    fleet,
    isDegraded: monitor.isDegraded,
  })
  t.teardown(async () => {
    await monitor.close()
    await app.close()
  })
  const ask = (method: 'GET' | 'POST' | 'PUT', url: string, payload?: object, headers = ADMIN) =>
    app.inject({ method, url, headers, ...(payload && { payload }) })
  const comeUp = () => {
    fleet.birth(cellId, 1, { name: 'one', engines: [engine(0)] } as unknown as Announce)
    fleet.state(cellId, 1, 'ready')
    fleet.linkUp({ cellId, roundTripMs: () => 1, close: () => {} } as unknown as CellLink)
  }
  return { app, ask, cellId, clock, comeUp, fleet, monitor, store }
}

t.test('an operator drains, resumes and labels a cell, and each action is audited', async t => {
  const { ask, cellId, comeUp, fleet, store } = await rig(t)
  comeUp()
  const showCell = async () => (await ask('GET', `/v1/cells/${cellId}`)).json()
  t.match(await showCell(), { presence: 'ready', drained: false, labels: {} })

  t.strictSame((await ask('POST', `/v1/cells/${cellId}/drain`)).json(), {
    id: cellId,
    drained: true,
  })
  t.match(await showCell(), { presence: 'draining', drained: true })
  t.notOk(fleet.pick('m'))
  t.match((await ask('POST', `/v1/cells/${cellId}/resume`)).json(), { drained: false })
  t.ok(fleet.pick('m'))

  const labels = { site: 'north', 'rack.row': '3' }
  t.match((await ask('PUT', `/v1/cells/${cellId}/labels`, { labels })).json(), { labels })
  t.match((await showCell()).labels, labels)
  t.match((await ask('GET', '/v1/cells')).json(), { cells: [{ labels }] })
  t.strictSame(
    (await ask('PUT', `/v1/cells/${cellId}/labels`, { labels: {} })).json().labels,
    {},
    'labels are replaced as a whole',
  )

  const rows = await store.ledger.read
    .selectFrom('audit')
    .select(['action', 'actor', 'subject'])
    .where('action', 'like', 'cell.%')
    .orderBy('seq')
    .execute()
  t.strictSame(
    rows.slice(1).map(row => [row.action, row.actor, row.subject]),
    ['cell.drain', 'cell.resume', 'cell.label', 'cell.label'].map(action => [
      action,
      'key:key-admin',
      cellId,
    ]),
  )
})

t.test('an operator dedicates a cell to a tenant and shares it again, audited', async t => {
  const { ask, cellId, store } = await rig(t)
  await createTenant(store.ledger, { id: 'second', name: 'second' }, { actor: 'test' })
  const url = `/v1/cells/${cellId}/tenant`
  t.strictSame((await ask('PUT', url, { tenant_id: 'second', exclusive: true })).json(), {
    id: cellId,
    tenant_id: 'second',
    exclusive: true,
  })
  t.match((await ask('GET', `/v1/cells/${cellId}`)).json(), { tenant_id: 'second' })
  t.match((await createCellSettings(store, Date.now).list()).get(cellId), {
    owner: { tenantId: 'second', exclusive: true },
  })
  await createTenant(store.ledger, { id: 'foreign', name: 'foreign' }, { actor: 'test' })
  for (const tenant_id of ['nobody', 'foreign'])
    t.equal((await ask('PUT', url, { tenant_id })).statusCode, 404, 'the key acts for neither')
  t.equal((await ask('PUT', url, { tenant_id: 'second' }, REVIEWER)).statusCode, 403)
  t.strictSame((await ask('PUT', url, {})).json(), {
    id: cellId,
    tenant_id: null,
    exclusive: false,
  })
  t.match((await ask('GET', '/v1/cells')).json(), { cells: [{ tenant_id: null }] })
  const rows = await store.ledger.read
    .selectFrom('audit')
    .select(['action', 'details_json'])
    .where('action', 'in', ['cell.dedicate', 'cell.share'])
    .orderBy('seq')
    .execute()
  t.match(rows, [
    { action: 'cell.dedicate', details_json: /"tenantId":"second"/ },
    { action: 'cell.share' },
  ])
})

t.test('an operator sees the routing and the waiting requests', async t => {
  const { ask, cellId, comeUp } = await rig(t)
  t.match((await ask('GET', '/v1/routing')).json(), { pools: [], waiting: { m: 3 } })
  comeUp()
  const pool = {
    model: 'm',
    tenant_id: null,
    cells: 1,
    in_flight: 0,
    engines: [
      {
        cell_id: cellId,
        state: 'serving',
        in_flight: 0,
        ready: true,
        full: false,
        trail_percent: 0,
      },
    ],
  }
  t.match((await ask('GET', '/v1/routing?model=m&limit=1')).json(), { pools: [pool] })
  t.match((await ask('GET', '/v1/routing?model=model-a:7b')).json(), { pools: [] })
  const unknown = await ask('GET', '/v1/routing?model=nosuch')
  t.equal(unknown.statusCode, 404)
  t.match(unknown.json().error, {
    code: 'model_not_found',
    param: 'model',
    message: 'no model nosuch',
  })
  t.equal((await ask('GET', '/v1/routing?limit=-1')).statusCode, 422)
  const asClient = { authorization: 'Bearer pro-key' }
  t.equal((await ask('GET', '/v1/routing', undefined, asClient)).statusCode, 403)
})

t.test('an engine that gets no requests keeps its row in the routing', async t => {
  const { ask, cellId, comeUp, fleet } = await rig(t)
  comeUp()
  fleet.state(cellId, 1, 'lost')
  t.match((await ask('GET', '/v1/routing?breaker=closed')).json().pools, [
    { model: 'm', cells: 0, engines: [{ cell_id: cellId, state: 'away', breaker: 'closed' }] },
  ])
  t.strictSame((await ask('GET', '/v1/routing?breaker=open')).json().pools, [])
})

t.test('invalid input is refused', async t => {
  const { ask, cellId } = await rig(t)
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`l${i}`, '']))
  for (const [method, url, payload, headers, status] of [
    ['POST', '/v1/cells/cell_x/drain', undefined, ADMIN, 404],
    ['PUT', '/v1/cells/cell_x/labels', { labels: {} }, ADMIN, 404],
    ['POST', `/v1/cells/${cellId}/drain`, undefined, REVIEWER, 403],
    ['PUT', `/v1/cells/${cellId}/labels`, { labels: {} }, REVIEWER, 403],
    ['PUT', `/v1/cells/${cellId}/labels`, { labels: { 'No Blanks': '' } }, ADMIN, 422],
    ['PUT', `/v1/cells/${cellId}/labels`, { labels: { a: 'x'.repeat(257) } }, ADMIN, 422],
    ['PUT', `/v1/cells/${cellId}/labels`, { labels: many }, ADMIN, 422],
    ['GET', '/v1/cells/cell_x/series?metric=cpu_percent', undefined, ADMIN, 404],
    ['GET', `/v1/cells/${cellId}/series`, undefined, ADMIN, 422],
    ['GET', `/v1/cells/${cellId}/series?metric=mood`, undefined, ADMIN, 422],
    ['GET', `/v1/cells/${cellId}/series?metric=queued&resolution=2h`, undefined, ADMIN, 422],
    ['GET', '/v1/alerts?limit=0', undefined, ADMIN, 422],
    ['GET', '/v1/alerts', undefined, { authorization: 'Bearer pro-key' }, 403],
    ['POST', '/v1/skills/vram-guard', {}, { authorization: 'Bearer pro-key' }, 403],
  ] as const) {
    const response = await ask(method, url, payload, headers)
    t.equal(response.statusCode, status, `${method} ${url}`)
  }
})

t.test('a fleet without cells answers empty, with null instead of 0', async t => {
  const { ask, cellId } = await rig(t)
  t.match((await ask('POST', '/v1/skills/fleet-utilization', {})).json(), {
    data_state: 'empty',
    composite_percent: null,
    gpu_percent: null,
    vram_percent: null,
    slots_busy_percent: null,
    items_per_hour: 0,
    active_cells: 0,
    refreshed_at: new Date(NOW).toISOString(),
  })
  t.match((await ask('POST', '/v1/skills/vram-guard', {})).json(), {
    data_state: 'empty',
    alerts: [],
    cells: [],
  })
  const series = await ask('GET', `/v1/cells/${cellId}/series?metric=gpu_percent&resolution=1h`)
  t.match(series.json(), { data_state: 'empty', resolution_seconds: 3600, points: [] })
  t.match((await ask('GET', '/v1/alerts')).json(), { data_state: 'empty', fleet_degraded: false })
})

t.test('samples appear as utilisation, VRAM levels, series and alerts', async t => {
  const { ask, cellId, comeUp, fleet, monitor, store } = await rig(t)
  comeUp()
  const gpus = [
    gpu(96, { utilization_percent: 30 }),
    gpu(null, { index: 1, id: 'second', unified_memory: true }),
  ]
  fleet.sample(cellId, 1, sampleOf(NOW, { gpus, engines: [engine(2)] }), 0)
  await monitor.tick()
  await monitor.lookForAlerts(store.ledger)
  t.match((await ask('POST', '/v1/skills/fleet-utilization', {})).json(), {
    data_state: 'live',
    composite_percent: (30 + 96 + 50) / 3,
    active_cells: 1,
  })
  t.match((await ask('POST', '/v1/skills/vram-guard', {})).json(), {
    data_state: 'partial',
    alerts: [{ cell_id: cellId, used_percent: 96, level: 'critical' }],
    cells: [
      {
        cell_id: cellId,
        level: 'critical',
        gpus: [
          { level: 'critical', unified_memory: false },
          {
            level: 'unknown',
            unified_memory: true,
            used_percent: null,
            reason: /shares the memory of its host/,
          },
        ],
      },
    ],
    unknown: [{ field: /^cells\[\]\.gpus\[\]\./, reason: /^GPU 1 of cell .*: the GPU shares/ }],
  })
  const series = await ask('GET', `/v1/cells/${cellId}/series?metric=vram_used_percent`)
  t.strictSame(series.json(), {
    cell_id: cellId,
    metric: 'vram_used_percent',
    resolution_seconds: 60,
    aggregation: 'max',
    data_state: 'live',
    points: [{ at: new Date(NOW).toISOString(), value: 96, samples: 1 }],
  })
  const { alerts } = (await ask('GET', '/v1/alerts')).json()
  t.match(alerts, [
    { rule: 'vram_critical', level: 'critical' },
    { rule: 'vram_warn', cell_id: cellId, part: 'gpu', cleared_at: null },
  ])
  t.match((await ask('GET', '/v1/alerts?state=cleared')).json(), { alerts: [] })
  t.match((await ask('GET', `/v1/cells`)).json(), {
    cells: [{ gpu_percent: 30, vram_used_percent: 96, slots_busy_percent: 50, queued: 0 }],
  })
})

t.test('health is degraded while over half of the fleet is lost', async t => {
  const { ask, comeUp, fleet, monitor } = await rig(t)
  comeUp()
  t.match((await ask('GET', '/v1/alerts')).json(), { fleet_degraded: false })
  for (const presence of ['ready', 'dead'] as const)
    for (let i = 0; i < 5; i++) {
      const cell = [...fleet.cells()][0]
      if (cell) monitor.notePresence({ ...cell, id: `x${i}`, presence }, 'unknown')
      monitor.noteReported(`x${i}`, presence)
    }
  t.match((await ask('GET', '/v1/alerts')).json(), { fleet_degraded: true })
  t.equal((await ask('GET', '/v1/health')).json().cells, 1)
})
