import t, { type Test } from 'tap'
import * as z from 'zod'
import type { NewUsage } from '../../../../coordinator/access/quota/usage.ts'
import { newCell } from '../../../../coordinator/fleet/cells/cell.ts'
import { defineJobKind } from '../../../../coordinator/kernel/queue/job-kind.ts'
import { HALF_JITTER } from '../../../../shared/back-off.ts'
import { openScene } from '../../../support/coordinator.ts'
import { engine, gpu, sampleOf } from '../../fleet/series/samples.ts'
import { notInFiles } from '../../kernel/store/temporary.ts'

const NOW = Date.UTC(2026, 10, 20, 12, 30)
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** A coordinator with one cell, and what its skills answer to an operator. */
const rig = async (t: Test) => {
  const cell = { ...newCell('a', 1), presence: 'ready' as const }
  const clock = { now: NOW }
  const scene = await openScene(t, {
    now: () => clock.now,
    views: {
      fleet: { cells: () => [cell], cell: (id: string) => (id === 'a' ? cell : undefined) },
    },
  })
  const { app, demo, usage, views } = scene
  const ask = async (url: string, key = demo.operator, method: 'GET' | 'POST' = 'POST') => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await app.inject({
      method,
      url,
      headers,
      ...(method === 'POST' && { payload: {} }),
    })
    if (response.statusCode !== 200) throw new Error(`${url}: ${response.body}`)
    return response.json()
  }
  const run = (skill: string, key?: string) => ask(`/v1/skills/${skill}`, key)
  const [key] = await views.keys.list({ tenantId: 'demo' }).catch(() => [])
  const tenantId = key?.tenantId ?? 'demo'
  const record = (other: Partial<NewUsage> = {}) =>
    usage.record({
      at: NOW - HOUR_MS,
      key_id: 'k',
      tenant_id: tenantId,
      model: 'model-a:7b',
      cell_id: 'a',
      route: '/v1/chat/completions',
      status: 'ok',
      prompt_tokens: 10,
      completion_tokens: 20,
      cached_tokens: 5,
      duration_ms: 1000,
      request_id: 'r',
      ttft_ms: 200,
      retries: 0,
      ...other,
    })
  return { ...scene, ask, run, record, cell, clock, tenantId }
}

t.test('performance-report', async t => {
  const { run, record, usage, tenantId, demo } = await rig(t)
  t.match(await run('performance-report'), {
    data_state: 'empty',
    current: { requests: 0, ttft_p95_ms: null, tokens_per_second: null, error_percent: null },
    previous: null,
    models: [],
  })

  t.test('computes its figures from the usage of the tenant', async t => {
    await record()
    await record({ at: NOW - DAY_MS - HOUR_MS, duration_ms: 2000, ttft_ms: 400 })
    t.match(await run('performance-report'), {
      data_state: 'live',
      tenant_id: tenantId,
      period: { from: '2026-11-19T13:00:00.000Z', to: '2026-11-20T13:00:00.000Z' },
      current: { requests: 1, tokens_per_second: 20, ttft_mean_ms: 200, error_percent: 0 },
      previous: { requests: 1, tokens_per_second: 10, ttft_mean_ms: 400 },
      change: { tokens_per_second_percent: 100, error_percentage_points: 0 },
      models: [{ model: 'model-a:7b', current: { requests: 1 }, previous: { requests: 1 } }],
    })
  })

  t.test('counts failures, retries, and requests that no cell took', async t => {
    await record({ status: 'failed', completion_tokens: 0, ttft_ms: null, retries: 2 })
    const refusal = { at: NOW, keyId: 'k', tenantId, model: 'model-a:7b' }
    usage.countRefusal({ ...refusal, isUnavailable: true })
    usage.countRefusal({ ...refusal, isUnavailable: false })
    t.match((await run('performance-report')).current, {
      requests: 2,
      requests_failed: 1,
      requests_refused: 1,
      requests_unavailable: 1,
      error_percent: 66.67,
      retries: 2,
      streams: 1,
    })
  })

  t.test('gives embeddings no rate of generated tokens', async t => {
    await record({ model: 'embed-a', route: '/v1/embeddings', completion_tokens: 0, ttft_ms: null })
    const { models } = await run('performance-report')
    const embeddings = models.find(({ model }: { model: string }) => model === 'embed-a')
    t.match(embeddings.current, { requests: 1, tokens_per_second: null, mean_duration_ms: 1000 })
  })

  t.test('shows another tenant nothing of it', async t => {
    const other = await run('performance-report', demo.stranger)
    t.match(other, { data_state: 'empty', tenant_id: 'other', current: { requests: 0 } })
  })
})

t.test('system-analytics shows hours, operations and the series of cells', async t => {
  const { run, record, monitor, cell } = await rig(t)
  await record()
  await record({ at: NOW })
  await record({ at: NOW })
  monitor.addSample(cell, sampleOf(NOW - 60_000, { engines: [engine(2)], gpus: [gpu(90)] }))
  await run('skill-stats')
  const found = await run('system-analytics')
  t.match(found, {
    data_state: 'partial',
    total: { requests: 3 },
    hours: [
      { hour: '2026-11-20T11:00:00.000Z', requests: 1 },
      { hour: '2026-11-20T12:00:00.000Z', requests: 2 },
    ],
    busiest_hour: '2026-11-20T12:00:00.000Z',
    operations: [{ id: 'skill-stats', calls: 1, errors: 0 }],
    cells: [{ cell_id: 'a', slots_busy_percent: { mean: 50, max: 50, points: 1 } }],
  })
  t.equal(found.cells[0].vram_used_percent.max, 90)
})

t.test('testcenter and the dashboard show what the parts show', async t => {
  const { run, ask, cell, tenantId, work, demo } = await rig(t)
  const before = await run('testcenter')
  const store = notInFiles ? 'postgresql' : 'sqlite'
  t.match(before, {
    queue: { data_state: 'empty' },
    fleet: { data_state: 'live', cells: 1, active_cells: 1 },
    infrastructure: { mode: 'single', store, broker: 'embedded', egress: 'off' },
    flows: { data_state: 'empty' },
    synergies: { data_state: 'empty', health_percent: null },
    tool_activity: { data_state: 'empty' },
    vram_alerts: [],
  })
  cell.sample = sampleOf(NOW, { gpus: [gpu(96)] })
  work.addKind(
    defineJobKind({
      kind: 'report-test',
      payload: z.object({}),
      account: () => ({ project: 'reports' }),
      maxAttempts: 1,
      backOff: { firstMs: 1000, maxMs: 60_000, jitter: HALF_JITTER },
      concurrency: 1,
      timeoutSeconds: 1,
      leaseSeconds: 60,
      keptDays: 1,
      run: async () => {},
    }),
  )
  const inAnHour = NOW + HOUR_MS
  await work.queue.add({ kind: 'report-test', payload: {}, tenantId, notBefore: inAnHour })
  const after = await run('testcenter')
  t.match(after, {
    queue: { data_state: 'live', queued: 1 },
    vram_alerts: [{ cell_id: 'a', used_percent: 96, level: 'critical' }],
    tool_activity: { data_state: 'live', tools: [{ id: 'testcenter', calls: 1 }] },
  })
  t.match(await run('testcenter', demo.stranger), {
    queue: { data_state: 'empty', queued: 0 },
    tool_activity: { calls: 0, tools: [] },
  })
  const dashboard = await ask('/portal/api/otrs/dashboard', demo.operator, 'GET')
  t.strictSame(Object.keys(dashboard), [
    'generated_at',
    'fleet',
    'queue',
    'flows',
    'synergies',
    'ramp_ups',
    'gates',
    'alerts',
    'services',
    'tickets',
  ])
  t.match(dashboard, { fleet: { cells: 1 }, gates: { pending: 0 }, tickets: null })
})

t.test('ops-daily-status lists what needs a person', async t => {
  const { run, record } = await rig(t)
  const whats = async () =>
    (await run('ops-daily-status')).attention.map((each: { what: string }) => each.what)
  t.ok((await whats()).includes('Backup: none'))
  t.notOk((await whats()).some((what: string) => what.includes('requests failed')))
  await record({ status: 'failed' })
  t.ok((await whats()).includes('100 percent of the requests failed within 24 hours'))
})

t.test('quality-report rates what was measured, and nothing else', async t => {
  const { run, record } = await rig(t)
  const find = async (id: string) =>
    (await run('quality-report')).indicators.find((each: { id: string }) => each.id === id)
  t.match(await find('first_token'), { value: null, result: 'unknown', measured: 0 })
  await record()
  t.match(await find('first_token'), { value: 100, result: 'pass', measured: 1 })
  await record({ ttft_ms: 2600 })
  t.match(await find('first_token'), { value: 50, result: 'fail', measured: 2 })
})

t.test('gap-report follows what is declared', async t => {
  const { run } = await rig(t)
  const found = await run('gap-report')
  t.equal(found.counts.models, found.declared.models, 'no cell serves any model')
  t.equal(found.counts.backups, 1)
  t.equal(found.declared.cells, 0)
})

t.test('fleet-optimize plans a command that an operator can call', async t => {
  const { run, record, cell } = await rig(t)
  t.match(await run('fleet-optimize'), { recommendations: [], plan: { dry_run: true, steps: [] } })
  await record({ model: 'm' })
  cell.sample = sampleOf(NOW, {
    gpus: [gpu(10)],
    engines: [engine(0, { state: 'cold', memory_bytes: 50 })],
  })
  t.match(await run('fleet-optimize'), {
    data_state: 'live',
    observed: { cells: 1, requests: 1 },
    recommendations: [{ kind: 'placement', cell_id: 'a', model: 'm' }],
    plan: {
      steps: [{ operation: 'cells-load', path: '/v1/cells/a/models/m/load', method: 'POST' }],
    },
  })
})

t.test('get_metamorphosis_status follows cells, models and keys', async t => {
  const { run, cell, demo } = await rig(t)
  const find = async (id: string) =>
    (await run('get_metamorphosis_status')).items.find((each: { id: string }) => each.id === id)
  t.match(await find('model-a:7b'), { kind: 'model', class: 'CRUFT' })
  t.equal(await find('wild'), undefined)
  cell.sample = sampleOf(NOW, { engines: [engine(0, { models: ['wild'] })] })
  t.match(await find('wild'), { kind: 'model', class: 'PEARL' })
  const { items } = await run('get_metamorphosis_status', demo.stranger)
  t.equal(items.filter((each: { kind: string }) => each.kind === 'key').length, 1, 'its own key')
})

t.test('get_release_readiness runs every check against the running system', async t => {
  const { run, record } = await rig(t)
  const find = async (id: string) =>
    (await run('get_release_readiness')).blocks.find((each: { id: string }) => each.id === id)
  const { blocks, counts, ready } = await run('get_release_readiness')
  t.equal(blocks.length, 55)
  t.equal(ready, false)
  t.equal(counts.ready + counts.not_ready + counts.unknown, 55)
  t.strictSame(
    blocks.filter((each: { evidence: string }) => each.evidence === 'there is no such check'),
    [],
  )
  t.match(await find('quality-request-errors'), { state: 'unknown' })
  await record()
  t.match(await find('quality-request-errors'), { state: 'ready' })
  await record({ status: 'failed' })
  t.match(await find('quality-request-errors'), { state: 'not_ready', evidence: /^50 percent/ })
})
