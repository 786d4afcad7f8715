import { parseArgs } from 'node:util'
import { Formation } from '../devices/swarm/formation.ts'
import { planFormation } from '../devices/swarm/plan-formation.ts'
import { createStarts } from '../test/support/formation-proof.ts'
import { randomOf } from '../test/support/random.ts'
import { percentile, type ReportRow, report, round } from './measure.ts'

/**
 * CPU time of planning each formation, for units that start at random places.
 *
 *   npm run bench -- formations [--units 1000] [--rounds 5]
 */
export const main = async (argv: string[]): Promise<void> => {
  const options = {
    units: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '5' },
  } as const
  const { units, rounds } = parseArgs({ args: argv, options }).values
  const settings = { units: Number(units), rounds: Number(rounds) }
  report(
    'formations',
    settings,
    Formation.options.map(one => measure(one, settings)),
  )
}

const measure = (
  formation: Formation,
  { units, rounds }: { units: number; rounds: number },
): ReportRow => {
  const spent: number[] = []
  let strategy = ''
  let least_m = Number.POSITIVE_INFINITY
  for (let seed = 1; seed <= rounds; seed++) {
    const given = createStarts(randomOf(seed), units, 1).map((start, index) => ({
      device_id: `unit-${index}`,
      place: { ...start, altitude_m: 0 },
      radius_m: 0.1,
      min_speed_m_s: 0,
      max_speed_m_s: 1,
      max_acceleration_m_s2: 1,
    }))
    const before = process.cpuUsage()
    const plan = planFormation(given, {
      formation,
      spacing_m: 1,
      anchor: { x: 0, y: 0, heading_degrees: 30 },
      tolerances: { position_m: 0.01, skew_ms: 20 },
      margin_m: 0.1,
    })
    const { user, system } = process.cpuUsage(before)
    spent.push((user + system) / 1000)
    strategy = plan.strategy
    least_m = Math.min(least_m, plan.direct.least_m)
  }
  return {
    formation,
    units,
    strategy,
    median_cpu_ms: round(percentile(spent, 50)),
    most_cpu_ms: round(Math.max(...spent)),
    clearance_m: Math.round(least_m * 1000) / 1000,
  }
}
