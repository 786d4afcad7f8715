import { createSlots, Formation, type Point } from '../../devices/swarm/formation.ts'
import { planFormation } from '../../devices/swarm/plan-formation.ts'
import type {
  FormationRequest,
  FormationUnit,
  PacedUnitMove,
  Place,
  PlannedFormation,
  Stage,
} from '../../devices/swarm/planned-formation.ts'
import { shareAt } from '../../devices/swarm/time-scale.ts'
import { ShoalError } from '../../shared/errors.ts'
import { type Random, randomOf } from './random.ts'

/** Numbers that differ by less count as equal, in metres. */
const EPSILON_M = 1e-6
/** Moments at which each stage of a simulated plan is looked at. */
const MOMENTS = 40

/** Result of one seed. `faults` is empty when everything holds. */
interface FormationProof {
  strategy: PlannedFormation['strategy'] | 'refused'
  faults: string[]
}

/**
 * Plans a formation of random units and checks it: the spacing of the slots, the clearance that the
 * theory promises, and the distances of the units when they move with all allowed errors.
 */
export const proveFormation = (seed: number, maxUnits = 200): FormationProof => {
  const random = randomOf(seed)
  // every second swarm is small: there a way one by one exists more often
  const most = random.pick([maxUnits, Math.min(maxUnits, 12)])
  const units = createUnits(random, 2 + random.randomBelow(most - 1))
  const request = createRequest(random)
  const faults = [...checkSlots(units, request), ...checkTheory(units, request)]
  try {
    const plan = planFormation(units, request)
    return { strategy: plan.strategy, faults: [...faults, ...checkMotion(plan, request, random)] }
  } catch (error) {
    if (error instanceof ShoalError && error.code === 'conflict')
      return { strategy: 'refused', faults }
    throw error
  }
}

/** Random points that are at least a distance apart. */
export const createStarts = (random: Random, count: number, distance: number): Point[] => {
  const side = 1.7 * distance * Math.ceil(Math.sqrt(count))
  const [starts, cells]: [Point[], Map<string, Point[]>] = [[], new Map()]
  const keyOf = (x: number, y: number): string =>
    `${Math.floor(x / distance)},${Math.floor(y / distance)}`
  while (starts.length < count) {
    const point = { x: random.randomFraction() * side, y: random.randomFraction() * side }
    const near = [-1, 0, 1].flatMap(dx =>
      [-1, 0, 1].flatMap(
        dy => cells.get(keyOf(point.x + dx * distance, point.y + dy * distance)) ?? [],
      ),
    )
    if (near.some(({ x, y }) => Math.hypot(x - point.x, y - point.y) < distance)) continue
    starts.push(point)
    const key = keyOf(point.x, point.y)
    cells.set(key, [...(cells.get(key) ?? []), point])
  }
  return starts
}

const createUnits = (random: Random, count: number): FormationUnit[] => {
  const { pick } = random
  const canFly = pick([true, false])
  return createStarts(random, count, 1).map((start, index) => ({
    device_id: `unit-${index}`,
    place: { ...start, altitude_m: canFly ? 2 : 0 },
    radius_m: pick([0.05, 0.1, 0.15]),
    min_speed_m_s: 0.05,
    max_speed_m_s: pick([0.5, 1, 2]),
    max_acceleration_m_s2: pick([0.3, 0.5, 1]),
    ...(canFly ? { altitudes: { min_m: 1, max_m: 50 } } : {}),
  }))
}

const createRequest = ({ randomFraction, pick }: Random): FormationRequest => ({
  formation: pick(Formation.options),
  spacing_m: 1 + 2 * randomFraction(),
  anchor: {
    x: 20 * randomFraction(),
    y: 20 * randomFraction(),
    heading_degrees: 360 * randomFraction(),
  },
  tolerances: { position_m: pick([0, 0.02, 0.1]), skew_ms: pick([0, 50, 200]) },
  margin_m: pick([0.05, 0.1, 0.2]),
})

/** The least distance of two slots is the spacing. */
const checkSlots = (units: readonly FormationUnit[], request: FormationRequest): string[] => {
  const { formation, spacing_m, anchor } = request
  const slots = createSlots(formation, units.length, spacing_m, anchor)
  const least = leastDistance(slots.map(slot => ({ ...slot, altitude_m: 0 })))
  return Math.abs(least - spacing_m) < EPSILON_M ? [] : [`slots are ${least} m apart`]
}

/** Ideal units that start at least 1 m apart never come closer than 1/√2 of that. */
const checkTheory = (units: readonly FormationUnit[], request: FormationRequest): string[] => {
  const ideal = units.map(unit => ({ ...unit, radius_m: 0, min_speed_m_s: 0 }))
  const none = { tolerances: { position_m: 0, skew_ms: 0 }, margin_m: 0 }
  const { direct } = planFormation(ideal, { ...request, ...none })
  return direct.least_m >= Math.SQRT1_2 - EPSILON_M ? [] : [`clearance is ${direct.least_m} m`]
}

/** No two units come closer than required, with positions, clocks and paces at their worst. */
const checkMotion = (
  plan: PlannedFormation,
  { tolerances: { position_m, skew_ms } }: FormationRequest,
  { randomFraction, pick }: Random,
): string[] => {
  const places = new Map<string, Place>()
  for (const { moves } of plan.stages.toReversed())
    for (const { device_id, from } of moves) places.set(device_id, from)
  const ids = [...places.keys()]
  const late_s = new Map(ids.map(id => [id, (pick([0, 1]) * skew_ms) / 1000]))
  const angle = new Map(ids.map(id => [id, 2 * Math.PI * randomFraction()]))
  const faults: string[] = []
  for (const [index, stage] of plan.stages.entries()) {
    if (plan.stages.length > 20 && index % 10 > 0) {
      settle(stage, places)
      continue
    }
    for (let moment = 0; moment <= MOMENTS; moment++) {
      const seconds = ((stage.scale.duration_s + skew_ms / 1000) * moment) / MOMENTS
      const moved = new Map(places)
      for (const move of stage.moves)
        moved.set(move.device_id, placeAt(move, seconds - (late_s.get(move.device_id) as number)))
      const blurred = ids.map(id =>
        blur(moved.get(id) as Place, angle.get(id) as number, position_m),
      )
      const least = leastDistance(blurred)
      if (least < plan.required_m - EPSILON_M)
        faults.push(`stage ${index}: ${least} m instead of ${plan.required_m} m (${plan.strategy})`)
    }
    settle(stage, places)
  }
  return faults.slice(0, 3)
}

const settle = ({ moves }: Stage, places: Map<string, Place>): void => {
  for (const { device_id, to } of moves) places.set(device_id, to)
}

/** Place of a real unit, which knows its own ramps only. */
const placeAt = ({ from, to, pace }: PacedUnitMove, seconds: number): Place => {
  const share = shareAt(pace.own, seconds - pace.delay_s)
  return {
    x: from.x + share * (to.x - from.x),
    y: from.y + share * (to.y - from.y),
    altitude_m: from.altitude_m + share * (to.altitude_m - from.altitude_m),
  }
}

const blur = ({ x, y, altitude_m }: Place, angle: number, by_m: number): Place => ({
  x: x + by_m * Math.cos(angle),
  y: y + by_m * Math.sin(angle),
  altitude_m,
})

const leastDistance = (places: readonly Place[]): number => {
  let least = Number.POSITIVE_INFINITY
  for (let one = 0; one < places.length; one++) {
    const { x, y, altitude_m } = places[one] as Place
    for (let other = one + 1; other < places.length; other++) {
      const there = places[other] as Place
      const [dx, dy, dz] = [there.x - x, there.y - y, there.altitude_m - altitude_m]
      least = Math.min(least, dx * dx + dy * dy + dz * dz)
    }
  }
  return Math.sqrt(least)
}
