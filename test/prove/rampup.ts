import { parseArgs } from 'node:util'
import { killInRampUps } from './support/ramp-up-kills.ts'

const OPTIONS = {
  cells: { type: 'string', default: '4' },
  'every-ms': { type: 'string', default: '3000' },
} as const

/**
 * Two coordinators on one PostgreSQL carry on one ramp-up that reaches its end and one that is
 * aborted, while one of them after the other is killed with kill -9, or stopped (SIGSTOP) until its
 * lease has run out and continued: each cell is set once, and restored once after the abort.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const { values } = parseArgs({ args: argv, options: OPTIONS })
  const plan = { cells: Number(values.cells), everyMs: Number(values['every-ms']) }
  const { faults, kills, pauses, claims } = await killInRampUps(plan)
  for (const fault of faults) console.log(fault)
  console.log(
    `${kills} kills and ${pauses} pauses of two coordinators during two ramp-ups of ${plan.cells} cells, ` +
      `${claims} claims of their jobs, ${faults.length} faults`,
  )
  return faults.length === 0 && kills > 0 && pauses > 0
}
