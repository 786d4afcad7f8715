import fc from 'fast-check'
import t from 'tap'
import {
  COST_KINDS,
  type CostLine,
  computeEarnedCost,
  computePlannedCost,
  listCurveDays,
  sumCosts,
} from '../../../../coordinator/insight/planning/costs.ts'
import { createSchedule } from '../../../../coordinator/insight/planning/schedule.ts'
import { projectArbitrary, tasksOf } from './networks.ts'

// b may start 4 days late
const schedule = createSchedule(
  tasksOf([
    ['a', 10],
    ['b', 6],
  ]),
  undefined,
  {
    workingDays: ['mon'],
    holidays: [],
  },
)
const line = (kind: CostLine['kind'], eur: number, task?: number): CostLine => ({
  ...{ kind, eur, task, useCase: undefined },
})

t.test('labour accrues while its task lasts, and hardware is paid at its start', async t => {
  for (const [lines, starts, days, eur] of [
    [[line('labour', 600, 1)], 'earlyStart', 3, 300],
    [[line('labour', 600, 1)], 'lateStart', 4, 0],
    [[line('labour', 600, 1)], 'lateStart', 7, 300],
    [[line('hardware', 600, 1)], 'earlyStart', 0, 600],
    [[line('hardware', 600, 1)], 'lateStart', 3.9, 0],
    [[line('cloud', 100)], 'lateStart', 5, 50],
    [[line('energy', 100, 0)], 'earlyStart', 99, 100],
  ] as const)
    t.equal(computePlannedCost(lines, schedule, starts, days), eur, `${lines[0].kind} at ${days}`)
})

t.test(
  'a task earns its costs by the share that is done, and the project what was planned',
  async t => {
    const lines = [line('labour', 600, 1), line('hardware', 400, 0), line('cloud', 100)]
    t.equal(computeEarnedCost(lines, schedule, [1, 0.5], 5), 400 + 300 + 50)
    t.equal(computeEarnedCost(lines, schedule, [], 0), 0)
  },
)

t.test('the contingency is a share of all costs', async t => {
  const totals = sumCosts([line('labour', 100), line('cloud', 50), line('cloud', 50)], 0.1)
  t.match(totals, { labour: 100, hardware: 0, energy: 0, cloud: 100, contingency: 20 })
  t.ok(Math.abs(totals.total - 220) < 1e-9)
})

t.test(
  'the curve never falls, ends at the total, and is not later than that of late times',
  async () => {
    const lineArbitrary = fc.record({
      kind: fc.constantFrom(...COST_KINDS),
      eur: fc.integer({ min: 0, max: 1000 }),
      task: fc.option(fc.nat(), { nil: undefined }),
    })
    fc.assert(
      fc.property(projectArbitrary(), fc.array(lineArbitrary, { maxLength: 8 }), (tasks, rows) => {
        const plan = createSchedule(tasks, undefined, { workingDays: ['mon'], holidays: [] })
        const lines = rows.map(row => ({
          ...row,
          task: row.task === undefined ? undefined : row.task % tasks.length,
          useCase: undefined,
        }))
        const days = listCurveDays(plan.times.durationDays)
        const early = days.map(day => computePlannedCost(lines, plan, 'earlyStart', day))
        const late = days.map(day => computePlannedCost(lines, plan, 'lateStart', day))
        const total = sumCosts(lines, 0).total
        const ends = [early.at(-1) as number, late.at(-1) as number]
        return (
          ends.every(end => Math.abs(end - total) < 1e-6) &&
          early.every((eur, at) => at === 0 || eur >= (early[at - 1] as number) - 1e-6) &&
          early.every((eur, at) => eur >= (late[at] as number) - 1e-6)
        )
      }),
    )
  },
)
