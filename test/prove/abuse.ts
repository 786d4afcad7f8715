import { parseArgs } from 'node:util'
import { report } from '../../bench/measure.ts'
import { type PhaseFigures, type PhasePlan, runPhase } from './abuse/phase.ts'
import { allPlans, quietPlan, smallPlans } from './abuse/plans.ts'
import { AbuseScene } from './abuse/scene.ts'
import { findFaults } from './abuse/verdict.ts'

const WARM_UP_MS = 3000
/** Rest after an attack, in which its connections end. */
const REST_MS = 1500

/**
 * Hostile clients and cells beside an honest client, one attack after another: what the honest one
 * sees of them is bounded, and so are memory and log of the coordinator.
 *
 *   npm run prove -- abuse [--seconds 7] [--only pipelines] [--small]
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      seconds: { type: 'string', default: '7' },
      only: { type: 'string' },
      small: { type: 'boolean', default: false },
    },
  })
  const measureMs = Number(values.seconds) * 1000
  const all = values.small
    ? smallPlans({ measureMs, share: 0.4 })
    : allPlans({ measureMs, share: 1 })
  const plans = all.filter(({ name }) => name.includes(values.only ?? ''))
  const { rows, faults } = await runAttacks(plans, measureMs, { hasTimes: !values.small })
  if (values.small) console.table(rows)
  else report('abuse', values, rows)
  for (const fault of faults) console.log(fault)
  console.log(`${plans.length} attacks, ${faults.length} faults`)
  return faults.length === 0
}

const runAttacks = async (
  plans: readonly PhasePlan[],
  measureMs: number,
  options: { hasTimes: boolean },
): Promise<{ rows: PhaseFigures[]; faults: string[] }> => {
  const scene = await AbuseScene.start()
  try {
    await runPhase(scene, quietPlan(WARM_UP_MS))
    const quiet = await runPhase(scene, quietPlan(measureMs))
    const rows = [quiet]
    for (const plan of plans) {
      const row = await runPhase(scene, plan)
      rows.push(row)
      console.log(findFaults(row, quiet.p99_ms, options).join('\n') || `${row.attack}: holds`)
      await new Promise(resolve => setTimeout(resolve, REST_MS))
    }
    const attacked = rows.slice(1)
    return { rows, faults: attacked.flatMap(row => findFaults(row, quiet.p99_ms, options)) }
  } finally {
    await scene.stop()
  }
}
