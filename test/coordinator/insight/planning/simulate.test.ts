import fc from 'fast-check'
import t from 'tap'
import { computeTimes } from '../../../../coordinator/insight/planning/critical-path.ts'
import { buildNetwork, type PlannedTask } from '../../../../coordinator/insight/planning/network.ts'
import {
  PERCENTILES,
  type SimulationInput,
  simulate,
} from '../../../../coordinator/insight/planning/simulate.ts'
import { estimateOf } from '../../../../coordinator/insight/planning/three-point.ts'
import { construction, projectArbitrary } from './networks.ts'

const run = (tasks: readonly PlannedTask[], more: Partial<SimulationInput> = {}) =>
  simulate({
    network: buildNetwork(tasks),
    estimates: tasks.map(estimateOf),
    distribution: 'triangular',
    runs: 10_000,
    seed: 7,
    limits: [],
    ...more,
  })

const task = (id: string, low: number, likely: number, high: number, ...after: string[]) => ({
  id,
  ...{ optimisticDays: low, durationDays: likely, pessimisticDays: high },
  dependsOn: after.map(each => ({ id: each, type: 'FS' as const, lagDays: 0 })),
})

/** Inverse of the triangular distribution function. */
const triangularQuantile = (low: number, likely: number, high: number, u: number): number =>
  u < (likely - low) / (high - low)
    ? low + Math.sqrt(u * (high - low) * (likely - low))
    : high - Math.sqrt((1 - u) * (high - low) * (high - likely))

const isNear = (found: number | undefined, wanted: number): boolean =>
  Math.abs((found as number) - wanted) <= 0.01 * wanted

t.test(
  'percentiles of one triangular task are those of its distribution within 1 percent',
  async t => {
    const { percentilesDays } = run([task('a', 10, 14, 30)])
    PERCENTILES.forEach((percent, at) => {
      const wanted = triangularQuantile(10, 14, 30, percent / 100)
      t.ok(isNear(percentilesDays[at], wanted), `p${percent}: ${percentilesDays[at]} for ${wanted}`)
    })
  },
)

t.test('percentiles of parallel tasks are those of the maximum within 1 percent', async t => {
  // of four independent equal tasks, all end by x with the fourth power of the probability of one
  const tasks = ['a', 'b', 'c', 'd'].map(id => task(id, 10, 14, 30))
  const { percentilesDays, criticality } = run(tasks)
  PERCENTILES.forEach((percent, at) => {
    const wanted = triangularQuantile(10, 14, 30, (percent / 100) ** (1 / 4))
    t.ok(isNear(percentilesDays[at], wanted), `p${percent}: ${percentilesDays[at]} for ${wanted}`)
  })
  for (const share of criticality) t.ok(Math.abs(share - 0.25) < 0.015, `critical in ${share}`)
})

t.test('a long chain is normal, with the mean and variance of its beta tasks', async t => {
  const tasks = Array.from({ length: 60 }, (_, at) =>
    task(`t${at}`, 2, 5, 14, ...(at === 0 ? [] : [`t${at - 1}`])),
  )
  const { meanDays, deviationDays, percentilesDays } = run(tasks, { distribution: 'beta' })
  // beta with parameters 1 + 4r and 5 - 4r: mean (a + 4m + b)/6, variance (mean - a)(b - mean)/7
  const mean = 60 * 6
  const deviation = Math.sqrt((60 * (6 - 2) * (14 - 6)) / 7)
  t.ok(isNear(meanDays, mean))
  t.ok(Math.abs(deviationDays - deviation) < 0.03 * deviation)
  // quantiles of the normal distribution
  for (const [at, z] of [0, 0.8416, 1.2816, 1.6449].entries())
    t.ok(isNear(percentilesDays[at], mean + z * deviation), `p${PERCENTILES[at]}`)
})

t.test('a merge of paths makes the mean later than PERT expects', async t => {
  // PERT expects 44 weeks; the standard error of the mean is 0.03
  const { meanDays, criticality } = run(construction, { distribution: 'beta' })
  t.ok(meanDays > 44.1 && meanDays < 44.6, `mean ${meanDays}`)
  const shareOf = (id: string) => criticality[construction.findIndex(each => each.id === id)] ?? 0
  t.equal(shareOf('A'), 1, 'every path begins with A')
  t.ok(shareOf('L') > shareOf('K'), 'L is critical by the expected durations')
  t.ok(Math.abs(shareOf('M') + shareOf('N') - 1) < 1e-9, 'every path ends with M or N')
})

t.test('equal seeds have equal results, and other seeds have others', async t => {
  const tasks = [task('a', 1, 2, 9), task('b', 1, 3, 4, 'a'), task('c', 2, 3, 5, 'a')]
  t.strictSame(run(tasks), run(tasks))
  t.not(run(tasks).meanDays, run(tasks, { seed: 8 }).meanDays)
})

t.test('a project without ranges has its duration in every run', async t => {
  const found = run([task('a', 4, 4, 4), task('b', 2, 2, 2, 'a'), task('c', 1, 1, 1, 'a')], {
    runs: 100,
    limits: [5.9, 6],
  })
  t.match(found, { meanDays: 6, deviationDays: 0, leastDays: 6, mostDays: 6 })
  t.strictSame(found.probabilities, [0, 1])
  t.strictSame([...found.criticality], [1, 1, 0])
})

t.test(
  'a run of fixed durations has the duration and the critical tasks of the schedule',
  async () => {
    fc.assert(
      fc.property(projectArbitrary(), tasks => {
        const fixed = tasks.map(each => ({ ...each, ...NO_RANGE }))
        const { durationDays, totalFloat } = computeTimes(buildNetwork(fixed))
        const { meanDays, criticality } = run(fixed, { runs: 1 })
        return (
          Math.abs(meanDays - durationDays) < 1e-9 &&
          criticality.every((share, at) => (share === 1) === (totalFloat[at] === 0))
        )
      }),
    )
  },
)

t.test('runs stay between the durations of the best and the worst case', async () => {
  fc.assert(
    fc.property(
      projectArbitrary(fc.constant('FS')),
      fc.integer({ min: 1, max: 200 }),
      (tasks, runs) => {
        const { leastDays, mostDays, percentilesDays, criticality } = run(tasks, { runs })
        const extreme = (pick: (each: PlannedTask) => number | undefined) =>
          run(
            tasks.map(each => ({ ...each, durationDays: pick(each) as number, ...NO_RANGE })),
            { runs: 1 },
          ).meanDays
        const least = extreme(each => each.optimisticDays)
        const most = extreme(each => each.pessimisticDays)
        const sorted = [leastDays, ...percentilesDays, mostDays]
        return (
          least <= leastDays + 1e-9 &&
          mostDays <= most + 1e-9 &&
          sorted.every((days, at) => at === 0 || days >= (sorted[at - 1] as number)) &&
          criticality.some(share => share > 0)
        )
      },
    ),
  )
})

const NO_RANGE = { optimisticDays: undefined, pessimisticDays: undefined }
