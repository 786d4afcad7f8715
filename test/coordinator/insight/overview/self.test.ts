import t from 'tap'
import type { Views } from '../../../../coordinator/assembly/coordinator.ts'
import { createCallStats } from '../../../../coordinator/calls/invoke/call-stats.ts'
import {
  type DiagnosisCheck,
  diagnose,
  type Observations,
  worstResult,
} from '../../../../coordinator/fleet/alerts/diagnosis.ts'
import { Fleet } from '../../../../coordinator/fleet/cells/fleet.ts'
import { createVitals } from '../../../../coordinator/kernel/base/vitals.ts'
import { appWith, views } from '../../../support/app.ts'

const KEPT_DURATIONS = 256

const cell = (id: string, more: Partial<Observations['cells'][number]> = {}) =>
  ({ id, presence: 'ready', linked: true, clockAheadMs: 0, ...more }) as const

const replica = (id: string, more: Partial<Observations['replicas'][number]> = {}) => ({
  id,
  version: '1',
  unconnected: ['away'],
  ...more,
})

const well: Observations = {
  storeProblem: undefined,
  disk: { freeBytes: 50, totalBytes: 100 },
  loopDelayMs: 10,
  brokerConnected: true,
  cells: [cell('a'), cell('b')],
  models: [{ id: 'm', served: true }],
  alerts: [],
  quarantined: [],
  replicas: [replica('a')],
}

const check = (seen: Partial<Observations>, id: string): DiagnosisCheck | undefined =>
  diagnose({ ...well, ...seen }).find(each => each.id === id)

t.test('a healthy coordinator passes every check', async t => {
  const checks = diagnose(well)
  t.equal(worstResult(checks.map(({ result }) => result)), 'pass')
  t.equal(new Set(checks.map(({ id }) => id)).size, checks.length)
  t.ok(checks.every(({ remedy }) => remedy === undefined))
})

t.test('a model on a drained cell only has the remedy to resume the cell', async t => {
  const drained = { id: 'n', served: false, drainedOn: ['a'] }
  t.match(check({ models: [drained] }, 'models'), {
    observed: /drained: a$/,
    remedy: 'Resume the drained cells: shoal cells resume CELL_ID.',
  })
  const models = [drained, { id: 'o', served: false }]
  t.match(check({ models }, 'models'), { remedy: /weights, resume drained cells/ })
})

t.test('each check has thresholds and a remedy for each failure', async t => {
  const disk = (freeBytes: number) => ({ disk: { freeBytes, totalBytes: 1000 } })
  const dead = { presence: 'dead' } as const
  for (const [title, seen, id, result] of [
    ['a store that cannot be written', { storeProblem: 'disk full' }, 'store', 'fail'],
    ['10 percent free', disk(100), 'disk', 'pass'],
    ['9.9 percent free', disk(99), 'disk', 'warn'],
    ['2 percent free', disk(20), 'disk', 'warn'],
    ['1.9 percent free', disk(19), 'disk', 'fail'],
    ['a disk that does not answer', { disk: undefined }, 'disk', 'unknown'],
    ['a delay of 250 ms', { loopDelayMs: 250 }, 'event-loop', 'pass'],
    ['a delay of 251 ms', { loopDelayMs: 251 }, 'event-loop', 'warn'],
    ['a delay of 1001 ms', { loopDelayMs: 1001 }, 'event-loop', 'fail'],
    ['a warning', { alerts: [{ level: 'warn', message: 'x' }] }, 'alerts', 'warn'],
    ['a critical alert', { alerts: [{ level: 'critical', message: 'x' }] }, 'alerts', 'fail'],
    ['a copied identity', { quarantined: ['a'] }, 'quarantine', 'fail'],
    [
      'a cell that no coordinator has',
      { replicas: [replica('a'), replica('b')] },
      'replicas',
      'pass',
    ],
    [
      'a cell that one of two coordinators misses',
      { replicas: [replica('a'), replica('b', { unconnected: [] })] },
      'replicas',
      'warn',
    ],
    [
      'another version',
      { replicas: [replica('a'), replica('b', { version: '2' })] },
      'replicas',
      'warn',
    ],
    ['no broker', { brokerConnected: false }, 'broker', 'fail'],
    ['no cell', { cells: [] }, 'cells', 'warn'],
    ['one of two cells away', { cells: [cell('a'), cell('b', dead)] }, 'cells', 'warn'],
    ['every cell away', { cells: [cell('a', dead)] }, 'cells', 'fail'],
    ['a cell that drains', { cells: [cell('a', { presence: 'draining' })] }, 'cells', 'pass'],
    ['no cell there', { cells: [cell('a', dead)] }, 'links', 'unknown'],
    [
      'a cell without its link',
      { cells: [cell('a'), cell('b', { linked: false })] },
      'links',
      'warn',
    ],
    ['no link at all', { cells: [cell('a', { linked: false })] }, 'links', 'fail'],
    [
      'a model without a cell',
      { models: [...well.models, { id: 'n', served: false }] },
      'models',
      'warn',
    ],
    ['no model with a cell', { models: [{ id: 'n', served: false }] }, 'models', 'fail'],
    ['a clock 2 s ahead', { cells: [cell('a', { clockAheadMs: 2000 })] }, 'clock', 'pass'],
    [
      'a clock more than 2 s behind',
      { cells: [cell('a', { clockAheadMs: -2001 })] },
      'clock',
      'warn',
    ],
    ['no clock known', { cells: [cell('a', { clockAheadMs: undefined })] }, 'clock', 'unknown'],
  ] as const)
    t.test(`${title}: ${result}`, async t => {
      const found = check(seen as Partial<Observations>, id)
      t.equal(found?.result, result)
      t.equal(found?.remedy !== undefined, result === 'warn' || result === 'fail')
    })

  t.test("a majority of deviating clocks points to the coordinator's own", async t => {
    const off = ['a', 'b', 'c'].map(id => cell(id, { clockAheadMs: 9000 }))
    t.match(check({ cells: off }, 'clock')?.remedy, /this machine/)
    t.notMatch(check({ cells: [...off.slice(0, 1), cell('d')] }, 'clock')?.remedy, /this machine/)
  })

  t.test('a long list of names is truncated', async t => {
    const many = Array.from({ length: 1000 }, (_, i) => cell(`c${i}`, dead))
    t.match(check({ cells: many }, 'cells')?.observed, /^0 of 1000; away: c0, .*c4 and 995 more$/)
  })
})

const call = (operationId: string, durationMs: number, failed = false) => ({
  operationId,
  tenantId: 'home',
  durationMs,
  failed,
})

t.test('call statistics', async t => {
  t.test('are empty before the first call', async t => {
    const none = { calls: 0, errors: 0, p50Ms: undefined, p95Ms: undefined }
    t.strictSame(createCallStats().metricsFor('a'), none)
  })

  t.test('cover the newest calls, with percentiles by nearest rank', async t => {
    const stats = createCallStats()
    for (let i = 0; i < KEPT_DURATIONS; i++) stats.add(call('a', 9999, true))
    for (let i = 1; i <= KEPT_DURATIONS; i++) stats.add(call('a', i))
    stats.add(call('b', 7))
    t.strictSame(stats.metricsFor('a'), {
      calls: 2 * KEPT_DURATIONS,
      errors: KEPT_DURATIONS,
      p50Ms: 128,
      p95Ms: 244,
    })
    t.strictSame(stats.metricsFor('b'), { calls: 1, errors: 0, p50Ms: 7, p95Ms: 7 })
  })
})

const bearer = { authorization: 'Bearer reviewer-key', 'content-type': 'application/json' }

t.test('the self-check skills', async t => {
  const fleet = new Fleet({
    limits: { suspectAfterMs: 1, deadAfterMs: 2 },
    nowMs: () => 0,
    onPresenceChange: () => {},
  })
  const monitor = { alerts: () => [] } as unknown as Views['monitor']
  const cells = { list: async () => [] } as unknown as Views['cells']
  const app = await appWith({ views: views({ fleet, monitor, cells, now: () => 60_000 }) })
  t.teardown(() => app.close())
  const run = async (id: string, payload = '{}', headers: Record<string, string> = bearer) =>
    app.inject({ method: 'POST', url: `/v1/skills/${id}`, headers, payload })

  t.test('self-diagnose reports every check', async t => {
    const answer = await run('self-diagnose')
    t.match(answer.json(), { result: 'fail', checks: diagnose(well).map(({ id }) => ({ id })) })
    const client = { ...bearer, authorization: 'Bearer pro-key' }
    t.equal((await run('self-diagnose', '{}', client)).statusCode, 403)
  })

  t.test('skill-stats counts calls and errors of each skill', async t => {
    await run('self-diagnose', '{"x":1}')
    const answer = (await run('skill-stats')).json()
    t.match(answer, { since: '1970-01-01T00:00:00.000Z', calls: 2, errors: 1 })
    const found = answer.skills.find(({ id }: { id: string }) => id === 'self-diagnose')
    t.match(found, { calls: 2, errors: 1, p50_ms: Number, p95_ms: Number })
    const unused = answer.skills.find(({ id }: { id: string }) => id === 'vram-guard')
    t.match(unused, { calls: 0, p50_ms: null })
  })
})

t.test('time, disk and event loop are measured', async t => {
  const clock = { ms: 0 }
  const vitals = createVitals({
    store: { trouble: () => undefined },
    usage: { trouble: () => undefined },
    stateDir: t.testdir(),
    brokerConnected: () => true,
    nowMs: () => clock.ms,
  })
  t.teardown(vitals.close)
  clock.ms = 61_900
  t.equal(vitals.uptimeSeconds(), 61)
  const { freeBytes, totalBytes } = await vitals.disk()
  t.ok(freeBytes > 0 && freeBytes <= totalBytes)
  t.ok(vitals.loopDelayMs() >= 0)
})
