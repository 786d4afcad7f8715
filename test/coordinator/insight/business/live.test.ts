import t, { type Test } from 'tap'
import { Keys } from '../../../../coordinator/access/keys/keys.ts'
import { createTenant } from '../../../../coordinator/access/people/tenants.ts'
import type { UsageRow } from '../../../../coordinator/access/quota/usage.table.ts'
import type { BusinessConfig } from '../../../../coordinator/insight/business/business-config.ts'
import { scoreHealth } from '../../../../coordinator/insight/business/health.ts'
import { openBusiness } from '../../../../coordinator/insight/business/open.ts'
import type { Subscription } from '../../../../coordinator/insight/business/revenue.ts'
import type { Store } from '../../../../coordinator/kernel/store/store.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { silent } from '../../../support/cell.ts'
import { openScene, type SceneOptions } from '../../../support/coordinator.ts'
import { BY } from '../../kernel/store/temporary.ts'

const NOW = Date.parse('2026-11-20T12:00:00Z')
const DAY_MS = 86_400_000

const business = async (t: Pick<Test, 'teardown'>, options: SceneOptions = {}) => {
  const { app, demo, store, views } = await openScene(t, { now: () => NOW, ...options })
  const call = async (
    url: string,
    method: 'POST' | 'PUT',
    payload: object,
    key = demo.operator,
  ) => {
    const headers = { authorization: `Bearer ${key}` }
    return (await app.inject({ method, url, headers, payload })).json()
  }
  const run = (skill: string, input = {}, key?: string) =>
    call(`/v1/skills/${skill}`, 'POST', input, key)
  const put = (register: string, id: string, record: object) =>
    call(`/v1/registers/${register}/${id}`, 'PUT', { record })
  return { run, put, store, demo, views }
}

let requests = 0
const addUsage = async (store: Store, rows: Partial<UsageRow>[]): Promise<void> => {
  const whole = rows.map(row => ({
    id: `u${requests++}`,
    request_id: 'r',
    at: NOW - DAY_MS,
    key_id: 'k',
    tenant_id: 'demo',
    model: 'model-a:7b',
    cell_id: 'cell_1',
    route: 'chat',
    status: 'ok' as const,
    prompt_tokens: 600,
    completion_tokens: 400,
    cached_tokens: 0,
    duration_ms: 200,
    ...row,
  }))
  await store.records.free.write(trx => trx.insertInto('usage').values(whole).execute())
}

/** A finance key that may act for these tenants as well. */
const financeKey = async (store: Store, furtherTenants: string[]): Promise<string> => {
  for (const id of furtherTenants) await createTenant(store.ledger, { id, name: id }, BY)
  const keys = new Keys({ store, logger: silent })
  const spec = { tenantId: 'demo', personId: 'demo_operator', tier: 'pro' as const, furtherTenants }
  const { secret } = await keys.create({ ...spec, roles: ['client', 'finance'] }, BY)
  keys.close()
  return secret
}

const rack = { category: 'hosting', name: 'Rack', amount_eur: 100, started_on: '2026-01-01' }

t.test('shared costs follow the tokens, and energy is measured power at the price', async t => {
  const { run, put, store } = await business(t, {
    config: { business: { energy_price_eur_per_kwh: 0.25 } },
    views: {
      monitor: { energy: async () => ({ wattHours: 100_000, cellHours: 2 }) },
    },
  })
  await put('costs', 'rack', rack)
  await put('costs', 'own', { ...rack, amount_eur: 7, tenant_id: 'acme' })
  await put('subscriptions', 's', {
    ...{ tenant_id: 'acme', tier: 'pro', mrr_eur: 29, started_on: '2026-01-01' },
  })
  // three thousand tokens, one thousand, and six thousand of a tenant that is not shown
  await addUsage(store, [{}, {}, {}, { tenant_id: 'acme' }, { at: NOW - 31 * DAY_MS }])
  await addUsage(store, [{ tenant_id: 'stranger', prompt_tokens: 5600 }])
  const finance = await financeKey(store, ['acme'])
  t.match(await run('cost-analysis', {}, finance), {
    data_state: 'live',
    total_eur: 132,
    shared_eur: 125,
    tokens: 4000,
    cost_per_1000_tokens_eur: 33,
    energy: {
      measured_kwh: 100,
      measured_hours: 2,
      price_eur_per_kwh: 0.25,
      price_source: 'configuration',
      cost_eur: 25,
    },
    tenants: [
      { tenant_id: 'acme', tokens: 1000, direct_eur: 7, shared_eur: 31.25, cost_eur: 38.25 },
      { tenant_id: 'demo', tokens: 3000, direct_eur: 0, shared_eur: 93.75, cost_eur: 93.75 },
    ],
  })
})

t.test('tokens without records of costs are live data', async t => {
  const { run, store } = await business(t)
  t.match(await run('cost-analysis'), { data_state: 'empty', tokens: 0 })
  await addUsage(store, [{}])
  t.match(await run('cost-analysis'), {
    ...{ data_state: 'partial', tokens: 1000, to_load: ['costs'] },
    ...{ total_eur: null, shared_eur: null, cost_per_1000_tokens_eur: null },
    tenants: [{ tokens: 1000, cost_eur: null }],
  })
})

t.test('a record that names a tenant does not show its usage', async t => {
  const { run, put, store } = await business(t)
  await put('costs', 'rack', rack)
  const facts = { tier: 'pro', mrr_eur: 29, started_on: '2026-01-01' }
  await put('subscriptions', 's', { ...facts, tenant_id: 'other' })
  await addUsage(store, [{ tenant_id: 'other' }, { tenant_id: 'other', status: 'failed' }])
  t.match(await run('cost-analysis'), { tokens: 0, tenants: [] })
  t.match(await run('tenant-overview'), {
    data_state: 'partial',
    tenants: [
      { tenant_id: 'other', requests_30_days: null, tokens_30_days: null, health_score: null },
    ],
  })
  t.match(await run('tenant-health', { tenant_id: 'other' }), {
    ...{ score: null, level: null, reasons: [], data_state: 'partial' },
    unknown: [{ field: 'score' }, { field: 'level' }],
  })
})

t.test('an overview knows that a tenant of this service made no request', async t => {
  const { run, put, store } = await business(t)
  const facts = { tier: 'free', mrr_eur: 0, started_on: '2026-01-01' }
  await put('subscriptions', 'a', { ...facts, tenant_id: 'acme' })
  await put('subscriptions', 'd', { ...facts, tenant_id: 'demo' })
  const finance = await financeKey(store, ['acme'])
  await addUsage(store, [{}])
  t.match(await run('tenant-overview', {}, finance), {
    tenants: [
      { tenant_id: 'acme', requests_30_days: 0, requests_failed_30_days: 0, tokens_30_days: 0 },
      { tenant_id: 'demo', requests_30_days: 1, tokens_30_days: 1000 },
    ],
    unknown: [{ field: 'tenants[].health_score' }, { field: 'tenants[].health_level' }],
  })
  await addUsage(store, [{ tenant_id: 'acme' }])
  await put('subscriptions', 'a', { ...facts, tenant_id: 'acme', ended_on: '2026-10-01' })
  t.match(
    await run('tenant-overview', {}, finance),
    { data_state: 'live', unknown: [], tenants: [{ tier: null, mrr_eur: 0 }, { tier: 'free' }] },
    'no tier after the last subscription is no gap',
  )
})

t.test('the tier of a tenant without a record is unknown', async t => {
  const { run, store } = await business(t)
  await addUsage(store, [{}])
  t.match(await run('tenant-overview'), {
    data_state: 'partial',
    tenants: [{ tier: null, mrr_eur: null, requests_30_days: 1 }],
    unknown: [{ field: 'tenants[].tier' }, { field: 'tenants[].mrr_eur' }],
  })
  t.match(await run('tenant-metrics'), { tier: null, unknown: [{ field: 'tier' }] })
})

t.test('complete records have no gaps where there is none of a kind', async t => {
  const { run, put } = await business(t)
  t.match(await run('recruitment-pipeline'), {
    data_state: 'empty',
    unknown: [{ field: 'median_days_to_hire' }, {}, {}],
  })
  const applied = { name: 'Mira', position: 'Engineer', applied_on: '2026-11-01' }
  await put('candidates', 'c', applied)
  t.match(await run('recruitment-pipeline'), { data_state: 'live', unknown: [] })
  const facts = { tenant_id: 'acme', tier: 'pro', mrr_eur: 29, started_on: '2026-11-01' }
  await put('subscriptions', 's', facts)
  t.match(await run('arr-analysis'), { data_state: 'live', mrr_eur: 29, unknown: [] })
})

t.test(
  'a source of prices that stays silent leaves the price unknown after ten seconds',
  async t => {
    let limit: { after: number; end: () => void } | undefined
    const { promise: asked, resolve } = Promise.withResolvers<void>()
    const { views } = openBusiness({
      config: { business: { energy_price_zone: 'DE-LU' } },
      runtime: {
        ...systemRuntime,
        setTimeout: (end, after) => {
          limit = { after, end }
          return systemRuntime.setTimeout(() => {}, 0)
        },
      },
      logger: silent,
      views: {
        lookups: {
          run: (_module, _input, signal) => {
            resolve()
            return new Promise((_resolve, reject) => {
              signal.addEventListener('abort', () => reject(signal.reason))
            })
          },
        },
      },
    })
    let isOver = false
    const price = views.energyPrice(new AbortController().signal).finally(() => {
      isOver = true
    })
    await asked
    t.equal(limit?.after, 10_000)
    t.notOk(isOver, 'it waits for the source')
    limit?.end()
    t.equal(await price, undefined)
  },
)

t.test('the price of electricity is that of the configured zone, or none', async t => {
  const takenAt = Date.parse('2026-11-20T06:00:00Z')
  const signal = new AbortController().signal
  const asked: unknown[] = []
  const open = (business: BusinessConfig, mean: number | null) =>
    openBusiness({
      config: { business },
      runtime: systemRuntime,
      logger: silent,
      views: {
        lookups: {
          run: async (_module, input) => {
            asked.push(input)
            if (mean === null) throw new ShoalError('upstream_unavailable', 'no answer')
            return { data: { stats: { mean_eur_mwh: mean } }, sources: [], warnings: [], takenAt }
          },
        },
      },
    }).views.energyPrice(signal)
  t.equal(await open({}, 87.5), undefined)
  t.strictSame(asked, [], 'nothing is looked up without a zone')
  t.strictSame(await open({ energy_price_zone: 'DE-LU' }, 87.5), {
    ...{ eurPerKwh: 0.0875, source: 'energy-price', takenAt },
  })
  t.match(asked, [{ zone: 'DE-LU' }])
  t.equal(await open({ energy_price_zone: 'DE-LU' }, null), undefined)
})

t.test('the metrics of a tenant are those of this month, for any of its keys', async t => {
  const { run, store, demo } = await business(t)
  await addUsage(store, [{}, { status: 'failed', completion_tokens: 0, duration_ms: 400 }])
  await addUsage(store, [{ at: NOW - 25 * DAY_MS }, { tenant_id: 'other' }])
  t.match(await run('tenant-metrics', {}, demo.free), {
    data_state: 'partial',
    tier: null,
    requests: 2,
    requests_failed: 1,
    error_percent: 50,
    prompt_tokens: 1200,
    completion_tokens: 400,
    mean_duration_ms: 300,
    models: [{ model: 'model-a:7b', requests: 2, total_tokens: 1600 }],
  })
  t.match(await run('tenant-metrics', {}, demo.stranger), { requests: 1 })
})

const TODAY = '2026-11-20'
const subscription = (more: Partial<Subscription> = {}): Subscription => ({
  ...{ id: 's', tenant_id: 'acme', tier: 'pro', mrr_eur: 290, started_on: '2026-01-01' },
  ...more,
})
const counts = (ok: number, failed = 0) => ({ ok, failed })

for (const [name, facts, score, codes] of [
  ['steady use', { usage: { recent: counts(80), before: counts(100) } }, 100, []],
  [
    'a fall by more than a fifth',
    { usage: { recent: counts(79), before: counts(100) } },
    90,
    ['usage_falls'],
  ],
  [
    'a fall by more than half',
    { usage: { recent: counts(49), before: counts(100) } },
    75,
    ['usage_falls'],
  ],
  ['one percent of errors', { usage: { recent: counts(99, 1), before: counts(0) } }, 100, []],
  [
    'five percent of errors',
    { usage: { recent: counts(95, 5), before: counts(0) } },
    90,
    ['errors'],
  ],
  ['more errors', { usage: { recent: counts(94, 6), before: counts(0) } }, 70, ['errors']],
  ['errors of few requests', { usage: { recent: counts(10, 9), before: counts(0) } }, 100, []],
  ['no use any more', { usage: { recent: counts(0), before: counts(9) } }, 70, ['unused']],
  ['no use ever', { usage: { recent: counts(0), before: counts(0) } }, null, ['unused']],
  [
    'no use yet',
    {
      subscriptions: [subscription({ started_on: '2026-11-01' })],
      usage: { recent: counts(0), before: counts(0) },
    },
    null,
    [],
  ],
  [
    'an end, and no use ever',
    {
      subscriptions: [subscription({ ended_on: TODAY })],
      usage: { recent: counts(0), before: counts(0) },
    },
    null,
    ['subscription_ended', 'unused'],
  ],
  ['unknown use', { usage: undefined }, null, []],
  [
    'an end in 30 days',
    { subscriptions: [subscription({ ended_on: '2026-12-20' })] },
    70,
    ['subscription_ending'],
  ],
  ['an end in 31 days', { subscriptions: [subscription({ ended_on: '2026-12-21' })] }, 100, []],
  [
    'an end today',
    { subscriptions: [subscription({ ended_on: TODAY })] },
    40,
    ['subscription_ended'],
  ],
  [
    'a lower price, and no use any more',
    {
      subscriptions: [
        subscription({ ended_on: '2026-11-01' }),
        subscription({ mrr_eur: 100, started_on: '2026-11-01' }),
      ],
      usage: { recent: counts(0), before: counts(9) },
    },
    55,
    ['revenue_contracted', 'unused'],
  ],
] as const)
  t.test(`health of a tenant with ${name}`, async t => {
    const found = scoreHealth({
      ...{ tenantId: 'acme', today: TODAY, subscriptions: [subscription()] },
      usage: { recent: counts(80), before: counts(80) },
      ...facts,
    })
    t.equal(found.score, score)
    t.strictSame(
      found.reasons.map(({ code }) => code),
      codes,
    )
  })
