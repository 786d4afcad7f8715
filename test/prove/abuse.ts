import { parseArgs } from 'node:util'
import { report } from '../../bench/measure.ts'
import { pause } from '../support/wait-until.ts'
import { type PhaseMetrics, type PhasePlan, runPhase } from './abuse/phase.ts'
import { allPlans, quietPlan, smallPlans } from './abuse/plans.ts'
import { AbuseScene } from './abuse/scene.ts'
import { boundsOf, findFaults, NO_TIMES } from './abuse/verdict.ts'

/** Rest after an attack, in which its connections end. */
const REST_MS = 1500

/**
 * Hostile clients and cells beside an honest client, one attack after another: what the honest one
 * notices of them is bounded, and so are memory and log of the coordinator. The small form has the
 * most telling attacks and no bounds of time.
 *
 *   npm run prove -- abuse [--seconds 7] [--only pipelines] [--small]
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      seconds: { type: 'string', default: '7' },
      only: { type: 'string', default: '' },
      small: { type: 'boolean', default: false },
    },
  })
  const measureMs = Number(values.seconds) * 1000
  const plans = values.small
    ? smallPlans({ measureMs, share: 0.4 })
    : allPlans({ measureMs, share: 1 })
  const chosen = plans.filter(({ name }) => name.includes(values.only))
  const { quiet, attacked } = await runAttacks(chosen, measureMs)
  if (values.small) console.table([...quiet, ...attacked])
  else report('abuse', values, [...quiet, ...attacked])
  const bounds = values.small ? NO_TIMES : boundsOf(quiet[0] as PhaseMetrics)
  const faults = [...attacked, ...quiet.slice(1)].flatMap(metrics => findFaults(metrics, bounds))
  for (const fault of faults) console.log(fault)
  console.log(`${chosen.length} attacks, ${faults.length} faults`)
  return faults.length === 0
}

interface CoordinatorMetrics {
  quiet: PhaseMetrics[]
  attacked: PhaseMetrics[]
}

/** The attacks in turn, and a phase without one before them and after them. */
const runAttacks = async (
  plans: readonly PhasePlan[],
  measureMs: number,
): Promise<CoordinatorMetrics> => {
  const scene = await AbuseScene.start()
  try {
    // code that runs for the first time is slow
    await runPhase(scene, quietPlan(measureMs))
    const quiet = [await runPhase(scene, quietPlan(measureMs))]
    const attacked: PhaseMetrics[] = []
    for (const plan of plans) {
      attacked.push(await runPhase(scene, plan))
      await pause(REST_MS)
    }
    quiet.push(await runPhase(scene, quietPlan(measureMs)))
    return { quiet, attacked }
  } finally {
    await scene.stop()
  }
}
