import { resolve } from 'node:path'
import t from 'tap'
import { DEMO_TENANT } from '../../../../coordinator/access/keys/bootstrap.ts'
import { loadExample } from '../../../../coordinator/insight/registers/example.ts'
import { governanceScene } from '../../../support/governance.ts'

/*
 * The expected figures are worked out by hand in docs/business.md from the files in
 * examples/organisation.
 */

const FOLDER = resolve(import.meta.dirname, '../../../../examples/organisation')
const NOW = Date.parse('2026-11-20T12:00:00Z')
const SKILLS = [
  'arr-analysis',
  'cost-analysis',
  'team-status',
  'training-status',
  'recruitment-pipeline',
  'tenant-overview',
  'tenant-health',
  'tenant-metrics',
]

const scene = await governanceScene(t, { now: () => NOW })
const { call, demo } = scene
const run = async (skill: string, key = demo.operator, input = {}) =>
  (await call(key, 'POST', `/v1/skills/${skill}`, input)).json

t.test('without data every skill says so, and which registers to load', async t => {
  for (const skill of SKILLS) t.match(await run(skill), { data_state: 'empty' }, skill)
  t.match(await run('arr-analysis'), {
    ...{ to_load: ['subscriptions'], mrr_eur: null, tiers: [], months: [] },
  })
  t.match(await run('team-status'), { to_load: ['people', 'project-tasks'] })
  t.match(await run('tenant-health'), { score: null, level: null })
  t.match(await run('arr-analysis', demo.pro), { error: { code: 'forbidden' } })
})

t.test('the example organisation is loaded once', async t => {
  const by = { actor: 'test' }
  t.ok((await loadExample(scene.store, FOLDER, { tenantId: DEMO_TENANT, by })) > 60)
  t.equal(await loadExample(scene.store, FOLDER, { tenantId: DEMO_TENANT, by }), 0)
  for (const skill of SKILLS) t.match(await run(skill), { data_state: 'example' }, skill)
})

t.test('recurring revenue', async t => {
  const answer = await run('arr-analysis')
  t.match(answer, {
    as_of: '2026-11-20',
    tenants: 8,
    paying_tenants: 7,
    mrr_eur: 7120,
    arr_eur: 85_440,
    net_revenue_retention_12_months_percent: 120.5,
    tiers: [
      { tier: 'free', tenants: 1, paying_tenants: 0, mrr_eur: 0 },
      { tier: 'pro', tenants: 4, mrr_eur: 1160, arr_eur: 13_920 },
      { tier: 'enterprise', tenants: 3, mrr_eur: 5960, arr_eur: 71_520 },
    ],
  })
  const months = new Map(answer.months.map((month: { month: string }) => [month.month, month]))
  t.equal(months.size, 12)
  t.match(months.get('2026-02'), { start_mrr_eur: 4430, new_mrr_eur: 1490, end_mrr_eur: 5920 })
  t.match(months.get('2026-04'), { expansion_mrr_eur: 1200, net_revenue_retention_percent: 120.3 })
  t.match(months.get('2026-06'), { churned_mrr_eur: 290, net_revenue_retention_percent: 95.9 })
  t.match(months.get('2026-08'), { contraction_mrr_eur: 290, end_mrr_eur: 6540 })
  t.match(months.get('2026-09'), { new_mrr_eur: 290, end_mrr_eur: 6830 })
  t.match(months.get('2026-10'), { reactivation_mrr_eur: 290, end_mrr_eur: 7120 })
  t.match(months.get('2026-06'), {
    tiers: [{}, { tier: 'pro', churned_mrr_eur: 290 }, { tier: 'enterprise', churned_mrr_eur: 0 }],
  })
})

t.test('costs: depreciation, recurring and single ones, and those of one tenant', async t => {
  const answer = await run('cost-analysis')
  t.match(answer, {
    total_eur: 8509.5,
    shared_eur: 8209.5,
    tokens: 0,
    cost_per_1000_tokens_eur: null,
    energy: { measured_kwh: null, cost_eur: null },
    tenants: [{ tenant_id: 'kliniken', direct_eur: 300, shared_eur: 0, cost_eur: 300 }],
  })
  t.strictSame(answer.categories, [
    { category: 'personnel', cost_eur: 5200 },
    { category: 'depreciation', cost_eur: 1450 },
    { category: 'other', cost_eur: 900 },
    { category: 'hosting', cost_eur: 710.5 },
    { category: 'licences', cost_eur: 150 },
    { category: 'network', cost_eur: 99 },
  ])
})

t.test('teams', async t => {
  t.match(await run('team-status'), {
    people: 7,
    on_leave: 1,
    full_time_equivalents: 5.3,
    joined_90_days: 1,
    left_90_days: 1,
    open_tasks: 4,
    blocked_tasks: 1,
    overdue_tasks: 2,
    turnover_12_months_percent: 26.7,
    teams: [
      { team: 'Operations', people: 3, on_leave: 1, full_time_equivalents: 1.5, open_tasks: 2 },
      { team: 'Platform', people: 3, full_time_equivalents: 2.8, overdue_tasks: 1 },
      { team: 'Sales', people: 1, left_90_days: 1 },
    ],
  })
})

t.test('trainings', async t => {
  t.match(await run('training-status'), {
    assigned: 9,
    valid: 5,
    completion_percent: 55.6,
    mandatory: { assigned: 7, valid: 4, open: 1, overdue: 1, expired: 1, completion_percent: 57.1 },
    courses: [
      { course: 'Data protection', is_mandatory: true, expiring_30_days: 1 },
      { course: 'Kubernetes basics', is_mandatory: false, valid: 1, completion_percent: 50 },
    ],
    late: [
      { person_id: 'p-02', state: 'expired', since: '2026-10-01' },
      { person_id: 'p-05', state: 'overdue', since: '2026-09-30' },
    ],
  })
})

t.test('recruitment', async t => {
  t.match(await run('recruitment-pipeline'), {
    ...{ candidates: 8, open: 3, hired: 1, rejected: 2, withdrawn: 2, median_days_to_hire: 30 },
    stages: [
      { stage: 'applied', entered: 8, advanced: 6, conversion_percent: 85.7, median_days: 4 },
      { stage: 'screening', entered: 6, advanced: 4, conversion_percent: 80, median_days: 10 },
      { stage: 'interview', entered: 4, advanced: 2, conversion_percent: 66.7, median_days: 10 },
      { stage: 'offer', entered: 2, advanced: 1, conversion_percent: 50, median_days: 5.5 },
      { stage: 'hired', entered: 1, advanced: 0, conversion_percent: null },
    ],
    positions: [
      { position: 'Account manager', candidates: 3, open: 2, hired: 0 },
      { position: 'Platform engineer', candidates: 5, open: 1, hired: 1 },
    ],
  })
})

t.test('tenants, whose health is unknown without usage', async t => {
  const { tenants } = await run('tenant-overview')
  t.strictSame(
    tenants.map((each: Record<string, unknown>) => [
      each.tenant_id,
      each.tier,
      each.mrr_eur,
      each.health_score,
      each.health_level,
    ]),
    [
      ['blattwerk', 'pro', 290, null, null],
      ['demo', 'free', 0, null, null],
      ['gipfel', 'pro', 290, null, null],
      ['hafen', 'enterprise', 1490, null, null],
      ['kliniken', 'enterprise', 2980, null, null],
      ['quelle', 'pro', 290, null, null],
      ['tidal', 'enterprise', 1490, null, null],
      ['werkbank', 'pro', 290, null, null],
    ],
  )
  t.match(await run('tenant-health', demo.operator, { tenant_id: 'quelle' }), {
    score: null,
    reasons: [{ code: 'subscription_ending', points: 30 }],
  })
  t.match(await run('tenant-health'), { tenant_id: 'demo', score: null, reasons: [] })
  t.match(await run('tenant-health', demo.operator, { tenant_id: 'other' }), {
    error: { code: 'not_found', param: 'tenant_id' },
  })
  t.match(await run('tenant-metrics', demo.pro), { tenant_id: 'demo', tier: 'free', requests: 0 })
})

t.test('another tenant sees none of it', async t => {
  for (const skill of SKILLS)
    t.match(await run(skill, demo.stranger), { data_state: 'empty' }, skill)
  t.notMatch(JSON.stringify(await run('tenant-overview', demo.stranger)), /hafen|kliniken/)
})

t.test('the first own record replaces the example organisation', async t => {
  const record = { category: 'network', name: 'Line', amount_eur: 50, started_on: '2026-01-01' }
  const put = () => call(demo.operator, 'PUT', '/v1/registers/costs/line', { record })
  t.ok((await put()).json.example_records_removed > 60)
  t.equal((await put()).json.example_records_removed, 0)
  t.match(await run('cost-analysis'), { data_state: 'partial', total_eur: 50 })
  t.match(await run('arr-analysis'), { data_state: 'empty' })
})
