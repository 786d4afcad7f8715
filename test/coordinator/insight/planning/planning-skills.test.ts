import t from 'tap'
import { Simulations } from '../../../../coordinator/insight/planning/simulations.ts'
import { Budgets } from '../../../../coordinator/kernel/budgets/budgets.ts'
import { skills } from '../../../../coordinator/surfaces/catalogue/skills.ts'
import { appWith, config, views } from '../../../support/app.ts'

const { simulations: budget } = new Budgets(config().limits)
const app = await appWith({ views: views({ simulations: new Simulations(budget) }) })
t.teardown(() => app.close())

/** Calls a skill as a client with the lowest tier. */
const call = async (skill: string, payload: object) => {
  const response = await app.inject({
    method: 'POST',
    url: `/v1/skills/${skill}`,
    headers: { authorization: 'Bearer free-key' },
    payload,
  })
  return {
    ...response,
    json: response.headers['content-type']?.includes('json') ? response.json() : null,
  }
}

const TASKS = [
  { id: 'a', name: 'Design & review', duration_days: 5, optimistic_days: 4, pessimistic_days: 9 },
  { id: 'b', duration_days: 3, depends_on: [{ id: 'a', type: 'SS', lag_days: 1 }] },
  { id: 'c', duration_days: 2, depends_on: ['a', 'b'], complete_percent: 50 },
  { id: 'done', duration_days: 0, depends_on: ['c'] },
]

t.test('gantt_schedule answers with times, dates, PERT and a simulation', async t => {
  const { statusCode, json } = await call('gantt_schedule', {
    tasks: TASKS,
    start_date: '2027-03-24',
    holidays: ['2027-03-26', '2027-03-29'],
    runs: 500,
    target_days: 8,
  })
  t.equal(statusCode, 200)
  t.match(json, {
    duration_days: 7,
    start_date: '2027-03-24',
    finish_date: '2027-04-05',
    critical_path: ['a', 'c', 'done'],
    pert: { mean_days: 7.5, finish_date: '2027-04-06' },
    simulation: { runs: 500, seed: 1, distribution: 'beta' },
  })
  const [a, b, , done] = json.tasks
  t.match(a, { is_critical: true, criticality_percent: 100, expected_days: 5.5 })
  t.match(b, { name: 'b', early_start_days: 1, total_float_days: 1, free_float_days: 1 })
  t.match(b, { start_date: '2027-03-25', finish_date: '2027-03-31', criticality_percent: Number })
  t.match(done, { is_milestone: true, start_date: '2027-04-05', finish_date: '2027-04-05' })
  t.notOk('svg' in json)
  const { percentiles, target_probability_percent: target } = json.simulation
  t.strictSame(
    percentiles.map(({ percent }: { percent: number }) => percent),
    [50, 80, 90, 95],
  )
  t.ok(target > 50 && target < 100)
})

t.test('a project without ranges or start date has no simulation and no dates', async t => {
  const { json } = await call('gantt_schedule', { tasks: [{ id: 'a', duration_days: 1.5 }] })
  t.match(json, { pert: null, simulation: null, start_date: null, finish_date: null })
  t.match(json.tasks, [{ early_finish_days: 1.5, start_date: null, criticality_percent: null }])
})

t.test('gantt_schedule draws the chart with escaped text', async t => {
  const hostile = '</title><script>alert(1)</script>"\'&\u0007'
  const { headers, body } = await call('gantt_schedule', {
    tasks: [...TASKS, { id: hostile.slice(0, 64), name: hostile, duration_days: 1 }],
    title: hostile,
    start_date: '2027-03-24',
    runs: 0,
    as: 'svg',
  })
  t.equal(headers['content-type'], 'image/svg+xml; charset=utf-8')
  t.match(body, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/)
  t.notOk(body.includes('<script') || body.includes('\u0007'))
  t.match(body, /Design &amp; review/)
  t.match(body, />2027-03-24</)
  t.equal(body.match(/marker-end/g)?.length, 4, 'one arrow for each link')
  t.equal(body.match(/class="bar/g)?.length, 5, 'one bar or diamond for each task')
})

t.test('the chart of a short project has a label for each day', async t => {
  const tasks = [
    { id: 'pack', duration_days: 2 },
    { id: 'drive', duration_days: 1, depends_on: ['pack'] },
  ]
  const { body } = await call('gantt_schedule', { tasks, as: 'svg' })
  t.strictSame(body.match(/>day \d</g), ['>day 0<', '>day 1<', '>day 2<', '>day 3<'])
})

t.test('an invalid schedule is refused with the field', async t => {
  const one = { id: 'a', duration_days: 2 }
  for (const [input, param, message] of [
    [{}, 'tasks', /missing/],
    [{ tasks: [] }, 'tasks', /at least 1/],
    [{ tasks: [{ ...one, duration_days: -1 }] }, 'tasks.0.duration_days', /at least 0/],
    [{ tasks: [{ ...one, pessimistic_days: 3 }] }, 'tasks.0.optimistic_days', /missing/],
    [
      { tasks: [{ ...one, optimistic_days: 3, pessimistic_days: 4 }] },
      'tasks.0.optimistic_days',
      /at most duration_days/,
    ],
    [
      {
        tasks: [
          { ...one, depends_on: ['b'] },
          { ...one, id: 'b', depends_on: ['a'] },
        ],
      },
      'tasks.0.depends_on',
      /cycle: a -> b -> a/,
    ],
    [{ tasks: [one], holidays: ['24.12.2027'] }, 'holidays.0', /date/],
    [{ tasks: [one], working_days: [] }, 'working_days', /at least 1/],
    [{ tasks: [one], runs: 1_000_000 }, 'runs', /at most 100000/],
    [
      {
        tasks: Array.from({ length: 2000 }, (_, at) => ({
          id: `t${at}`,
          duration_days: 1,
          depends_on: at === 0 ? [] : ['t0'],
        })),
        runs: 100_000,
      },
      'runs',
      /at most \d+ with so many tasks/,
    ],
  ] as const) {
    const { statusCode, json } = await call('gantt_schedule', input)
    t.equal(statusCode, 422)
    t.match(json.error, { param, message })
  }
})

t.test(
  'evm_calc answers with metrics, and with reasons in place of a division by zero',
  async t => {
    const { json } = await call('evm_calc', { bac: 1000, pv: 500, ev: 400, ac: 500 })
    t.match(json, {
      cpi: 0.8,
      spi: 0.8,
      eac: 1250,
      etc: 750,
      vac: -250,
      tcpi_bac: 1.2,
      tcpi_eac: 0.8,
    })
    const { json: empty } = await call('evm_calc', { bac: 1000, pv: 0, ev: 0, ac: 0 })
    t.match(empty, { cpi: null, spi: null, eac: null, tcpi_bac: 1, reasons: { cpi: /ac is 0/ } })
    t.match(empty.reasons, { eac: /ac is 0/, spi: /pv is 0/ })
  },
)

t.test('evm_calc refuses work beyond the budget, and what is not a number', async t => {
  for (const [input, param] of [
    [{ bac: 100, pv: 50, ev: 101, ac: 1 }, 'ev'],
    [{ bac: 100, pv: 101, ev: 1, ac: 1 }, 'pv'],
    [{ bac: 100, pv: 50, ev: 50 }, 'ac'],
    [{ bac: '100', pv: 50, ev: 50, ac: 1 }, 'bac'],
    [{ bac: 100, pv: 50, ev: 50, ac: -1 }, 'ac'],
  ] as const) {
    const { statusCode, json } = await call('evm_calc', input)
    t.equal(statusCode, 422)
    t.equal(json.error.param, param)
  }
})

const COSTS = {
  rates: [{ role: 'engineer', eur_per_hour: 100 }],
  labour: [
    { role: 'engineer', task_id: 'a' },
    { role: 'engineer', task_id: 'c', hours: 10, people: 2, use_case: 'support' },
  ],
  hardware: [{ name: 'GPU', unit_price_eur: 1000, quantity: 2, task_id: 'b' }],
  energy: [{ name: 'GPU', power_watts: 500, hours: 100, eur_per_kwh: 0.4 }],
  cloud: [{ name: 'storage', unit_price_eur: 40, quantity: 2 }],
  contingency_percent: 10,
}

t.test('usecase_cost_calc adds up costs by kind, use case, role and task', async t => {
  const tasks = TASKS.map(task => ({ ...task, ...(task.id === 'a' && { use_case: 'invoices' }) }))
  const { statusCode, json } = await call('usecase_cost_calc', { tasks, costs: COSTS, runs: 0 })
  t.equal(statusCode, 200)
  const labour_eur = 5 * 8 * 100 + 2000
  t.match(json.totals, { labour_eur, hardware_eur: 2000, energy_eur: 20, cloud_eur: 80 })
  t.match(json.totals, { contingency_eur: 810, total_eur: 8910 })
  t.match(
    json.use_cases.toSorted(
      (a: { total_eur: number }, b: { total_eur: number }) => b.total_eur - a.total_eur,
    ),
    [
      { use_case: 'invoices', total_eur: 4400 },
      { use_case: null, labour_eur: 0, total_eur: 2310 },
      { use_case: 'support', labour_eur: 2000, total_eur: 2200 },
    ],
  )
  t.strictSame(json.roles, [{ role: 'engineer', hours: 60, eur: 6000 }])
  t.match(json.task_costs, [
    { task_id: 'a' },
    { task_id: 'c' },
    { task_id: 'b' },
    { task_id: null },
  ])
  t.equal(json.energy_kwh, 50)
  t.match(json.schedule, { duration_days: 7, simulation: null })
  const { cost_curve: curve } = json
  // a day of five for labour, one of seven for the project; hardware is paid on day 1 or 2
  const first = 880 + Math.round(11_000 / 7) / 100
  t.match(curve[1], { day: 1, date: null, planned_eur: first + 2200, planned_late_eur: first })
  t.match(curve.at(-1), { day: 7, planned_eur: 8910, planned_late_eur: 8910 })
  t.match(json, { earned_value: null, earned_value_needs: ['status_day', 'ac'] })
})

t.test('usecase_cost_calc computes planned and earned value of the day', async t => {
  const tasks = TASKS.map(task => ({ ...task, ...(task.id === 'a' && { complete_percent: 100 }) }))
  const input = { tasks, costs: { ...COSTS, contingency_percent: 0 }, runs: 0, status_day: 6 }
  const { json } = await call('usecase_cost_calc', { ...input, ac: 6000 })
  // labour of a, all hardware and 6 of 7 days of the project; c is half planned and half done
  const project = Math.round((100 * 100 * 6) / 7) / 100
  t.match(json.earned_value, { bac: 8100, pv: 7000 + project, ac: 6000 })
  t.match(json.earned_value, { ev: 4000 + 1000 + project })
  const { json: given } = await call('usecase_cost_calc', {
    ...input,
    ac: 50,
    bac: 100,
    pv: 60,
    ev: 50,
  })
  t.match(given.earned_value, { bac: 100, pv: 60, ev: 50, cpi: 1 })
  const { json: scaled } = await call('usecase_cost_calc', { ...input, ac: 50, bac: 810 })
  t.match(scaled.earned_value, { bac: 810, pv: 700 + Math.round(project * 10) / 100 })
})

t.test('usecase_cost_calc refuses costs that it cannot price or place', async t => {
  const tasks = [{ id: 'a', duration_days: 2 }]
  const labour = (line: object) => ({ ...COSTS, hardware: [], labour: [line] })
  for (const [costs, param, message] of [
    [labour({ role: 'pilot', task_id: 'a' }), 'costs.labour.0.role', /no rate for pilot/],
    [labour({ role: 'engineer', task_id: 'x' }), 'costs.labour.0.task_id', /no task has the id x/],
    [labour({ role: 'engineer' }), 'costs.labour.0.hours', /without task_id/],
    [{ rates: [...COSTS.rates, ...COSTS.rates] }, 'costs.rates.1.role', /given twice/],
    [
      { energy: [{ name: 'x', power_watts: 1, hours: 1 }] },
      'costs.energy.0.eur_per_kwh',
      /missing/,
    ],
    [undefined, 'costs', /missing/],
  ] as const) {
    const { statusCode, json } = await call('usecase_cost_calc', { tasks, costs })
    t.equal(statusCode, 422)
    t.match(json.error, { param, message })
  }
  const beyond = { tasks, costs: COSTS_OF_ONE, ac: 1, pv: 1, ev: 1e6 }
  t.match((await call('usecase_cost_calc', beyond)).json.error, { param: 'ev' })
})

const COSTS_OF_ONE = { cloud: [{ name: 'storage', unit_price_eur: 100 }] }

for (const skill of skills.filter(({ group }) => group === 'planning'))
  t.test(`the example of ${skill.id} has an answer`, async t => {
    t.ok(skill.examples.length > 0)
    for (const example of skill.examples) t.equal((await call(skill.id, example)).statusCode, 200)
  })
