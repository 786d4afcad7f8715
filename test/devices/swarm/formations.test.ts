import t from 'tap'
import { assignTargets } from '../../../devices/swarm/assignment.ts'
import { createSlots, Formation, type Point } from '../../../devices/swarm/formation.ts'
import { planFormation } from '../../../devices/swarm/plan-formation.ts'
import type { FormationRequest, FormationUnit } from '../../../devices/swarm/planned-formation.ts'
import { createPace, createTimeScale, shareAt } from '../../../devices/swarm/time-scale.ts'
import { createStarts, proveFormation } from '../../support/formation-proof.ts'
import { randomOf } from '../../support/random.ts'

const unitsAt = (places: readonly [number, number][], flying = false): FormationUnit[] =>
  places.map(([x, y], index) => ({
    device_id: `unit-${index}`,
    place: { x, y, altitude_m: flying ? 2 : 0 },
    radius_m: 0.2,
    min_speed_m_s: 0,
    max_speed_m_s: 1,
    max_acceleration_m_s2: 1,
    ...(flying ? { altitudes: { min_m: 1, max_m: 20 } } : {}),
  }))

const REQUEST: FormationRequest = {
  formation: 'line',
  spacing_m: 1,
  anchor: { x: 0, y: 0, heading_degrees: 0 },
  tolerances: { position_m: 0.05, skew_ms: 100 },
  margin_m: 0.1,
}

/** Two wide units that would come too close when they moved at once. */
const sideBySide = (flying: boolean): FormationUnit[] =>
  unitsAt(
    [
      [0, 0],
      [1, 0],
    ],
    flying,
  ).map(unit => ({ ...unit, radius_m: 0.35 }))
const ONE_BEHIND_ANOTHER = { ...REQUEST, anchor: { x: 0.5, y: 2, heading_degrees: 90 } }

t.test('random formations keep their distances', async t => {
  for (let seed = 1; seed <= 60; seed++)
    t.strictSame(proveFormation(seed, 40).faults, [], `seed ${seed}`)
})

t.test('an assignment has the least sum of squared distances', async t => {
  const sumOf = (starts: readonly Point[], targets: readonly Point[]): number =>
    starts.reduce((sum, { x, y }, at) => {
      const target = targets[at] as Point
      return sum + (target.x - x) ** 2 + (target.y - y) ** 2
    }, 0)
  const permute = <T>(list: readonly T[]): T[][] =>
    list.length === 0
      ? [[]]
      : list.flatMap((one, at) => permute(list.toSpliced(at, 1)).map(rest => [one, ...rest]))
  for (let seed = 1; seed <= 20; seed++) {
    const random = randomOf(seed)
    const starts = createStarts(random, 1 + random.randomBelow(6), 1)
    const anchor = { x: 100, y: -50, heading_degrees: 30 }
    const targets = createSlots(random.pick(Formation.options), starts.length, 1, anchor)
    const assigned = assignTargets(starts, targets)
    t.strictSame([...assigned].sort(), [...targets.keys()], 'each target is taken once')
    const found = sumOf(
      starts,
      assigned.map(target => targets[target] as Point),
    )
    const least = Math.min(...permute(targets).map(order => sumOf(starts, order)))
    t.ok(Math.abs(found - least) < 1e-6, `seed ${seed}: ${found} is ${least}`)
  }
  t.throws(() => assignTargets([], [{ x: 0, y: 0 }]), RangeError)
})

t.test('units on one another’s way move in layers where they can fly', async t => {
  const { strategy, stages, clearance, required_m } = planFormation(
    sideBySide(true),
    ONE_BEHIND_ANOTHER,
  )
  t.equal(strategy, 'layered')
  t.equal(stages.length, 3)
  const [up, across] = stages
  t.ok(
    (across?.begins_s as number) >= (up?.scale.duration_s as number) + 0.1,
    'a pause for the skew',
  )
  t.ok(clearance.least_with_errors_m >= required_m)
})

t.test('units on the ground move one by one', async t => {
  const { strategy, stages } = planFormation(sideBySide(false), ONE_BEHIND_ANOTHER)
  t.equal(strategy, 'staged')
  t.ok(stages.every(({ moves }) => moves.length === 1))
})

t.test('devices that stand in the area count as obstacles', async t => {
  const units = unitsAt([
    [0, 0],
    [5, 0],
  ])
  const request = { ...REQUEST, anchor: { x: 2.5, y: 4, heading_degrees: 0 } }
  t.equal(planFormation(units, request).strategy, 'direct')
  const onSlot = { device_id: 'rock', place: { x: 2, y: 4 } }
  t.throws(() => planFormation(units, { ...request, obstacles: [onSlot] }), {
    code: 'conflict',
    message: /unit-0 and rock would come/,
  })
})

t.test('a plan without room is refused with the reason', async t => {
  const near = unitsAt([
    [0, 0],
    [0.3, 0],
  ])
  t.throws(() => planFormation(near, REQUEST), { message: /unit-0 and unit-1 stand 0.20 m/ })
  const far = unitsAt([
    [0, 0],
    [3, 0],
  ])
  t.throws(() => planFormation(far, { ...REQUEST, spacing_m: 0.4 }), {
    message: /need 0.60 m/,
    param: 'spacing_m',
  })
})

t.test('a pace follows the common time scale within its deviation', async t => {
  const slow = { length_m: 10, min_speed_m_s: 0, max_speed_m_s: 1, max_acceleration_m_s2: 0.2 }
  const agile = { ...slow, length_m: 6, max_acceleration_m_s2: 2 }
  const idle = { ...slow, length_m: 1, min_speed_m_s: 0.5 }
  const scale = createTimeScale([slow, agile, idle])
  t.equal(shareAt(scale, 0), 0)
  t.equal(shareAt(scale, scale.duration_s), 1)
  for (const move of [slow, agile, idle]) {
    const { own, delay_s, deviation_m, speed_m_s } = createPace(move, scale)
    t.ok(speed_m_s <= move.max_speed_m_s + 1e-9)
    let most = 0
    for (let at = 0; at <= scale.duration_s; at += 0.01)
      most = Math.max(most, Math.abs(shareAt(scale, at) - shareAt(own, at - delay_s)))
    t.ok(most * move.length_m <= deviation_m + 1e-9, `${most * move.length_m} <= ${deviation_m}`)
  }
})
